(** Pairs of finite laws over the rationals, the profile of a pair, and what dominates it.

    A pair is a list of outcomes (p, q): the weights that the first and the second law give to it. *)

From Coq Require Export QArith Qpower Lqa List ZArith Lia Bool.
Export ListNotations.
Open Scope Q_scope.

Definition pos (z : Q) : Q := if Qle_bool z 0 then 0 else z.

Lemma pos_cases z : (z <= 0 /\ pos z = 0) \/ (0 < z /\ pos z = z).
Proof.
  unfold pos. destruct (Qle_bool z 0) eqn:E.
  - left. apply Qle_bool_iff in E. auto.
  - right. split; auto. apply Qnot_le_lt. intro C. apply Qle_bool_iff in C. congruence.
Qed.

Ltac positive :=
  repeat match goal with
  | |- context [pos ?z] => let E := fresh in destruct (pos_cases z) as [[? E]|[? E]]; rewrite E in *; clear E
  end.

#[export] Instance pos_proper : Proper (Qeq ==> Qeq) pos.
Proof. intros a b E. positive; lra. Qed.

Lemma pos_nonneg z : 0 <= pos z.
Proof. positive; lra. Qed.

Lemma pos_scale k z : 0 <= k -> pos (k * z) == k * pos z.
Proof. intro. positive; nra. Qed.

Lemma pos_add a b : pos (a + b) <= pos a + pos b.
Proof. positive; lra. Qed.

Lemma pos_mono a b : a <= b -> pos a <= pos b.
Proof. intro. positive; lra. Qed.

Definition law := list (Q * Q).

(** The profile, homogeneous in (x, y): with x = 1 and y = e^epsilon it is the hockey-stick divergence. *)
Fixpoint h (l : law) (x y : Q) : Q :=
  match l with
  | [] => 0
  | (p, q) :: t => pos (x * p - y * q) + h t x y
  end.

#[export] Instance h_proper l : Proper (Qeq ==> Qeq ==> Qeq) (h l).
Proof.
  induction l as [|[p q] l IH]; intros x x' E y y' E'; cbn [h]; [reflexivity|].
  rewrite (IH x x' E y y' E'), E, E'. reflexivity.
Qed.

Definition nonneg (l : law) : Prop := Forall (fun a => 0 <= fst a /\ 0 <= snd a) l.

Definition dominates (g l : law) : Prop := forall x y, 0 <= x -> 0 <= y -> h l x y <= h g x y.

Lemma dominates_refl l : dominates l l.
Proof. intros x y _ _. lra. Qed.

Lemma dominates_trans a b c : dominates a b -> dominates b c -> dominates a c.
Proof. intros A B x y X Y. specialize (A x y X Y). specialize (B x y X Y). lra. Qed.

Lemma h_nonneg l x y : 0 <= h l x y.
Proof. induction l as [|[p q] l IH]; cbn [h]; [lra|]. pose proof (pos_nonneg (x * p - y * q)). lra. Qed.

Lemma h_app a b x y : h (a ++ b) x y == h a x y + h b x y.
Proof. induction a as [|[p q] a IH]; cbn [h app]; [|rewrite IH]; ring. Qed.

Lemma h_rev l x y : h (rev l) x y == h l x y.
Proof. induction l as [|[a b] l IH]; cbn [rev]; [reflexivity|]. rewrite h_app, IH. cbn [h]. ring. Qed.

Lemma h_homogeneous l k x y : 0 <= k -> h l (k * x) (k * y) == k * h l x y.
Proof.
  intro K. induction l as [|[p q] l IH]; cbn [h]; [ring|].
  rewrite IH, <- (Qmult_assoc k x p), <- (Qmult_assoc k y q).
  setoid_replace (k * (x * p) - k * (y * q)) with (k * (x * p - y * q)) by ring.
  rewrite pos_scale by assumption. ring.
Qed.

Lemma h_convex l x y x' y' : h l (x + x') (y + y') <= h l x y + h l x' y'.
Proof.
  induction l as [|[p q] l IH]; cbn [h]; [lra|].
  setoid_replace ((x + x') * p - (y + y') * q) with ((x * p - y * q) + (x' * p - y' * q)) by ring.
  pose proof (pos_add (x * p - y * q) (x' * p - y' * q)). lra.
Qed.

(** ** Events: the profile bounds the advantage of every one of them *)

Fixpoint event (which : Q * Q -> Q) (l : law) (s : nat -> bool) : Q :=
  match l with
  | [] => 0
  | a :: t => (if s O then which a else 0) + event which t (fun i => s (S i))
  end.

Lemma events l : forall s e, event fst l s <= e * event snd l s + h l 1 e.
Proof.
  induction l as [|[p q] l IH]; intros s e; cbn [event h fst snd]; [lra|].
  specialize (IH (fun i => s (S i)) e). destruct (s O); positive; lra.
Qed.

(** ** Adaptive composition

    [joint f rest]: an outcome of [f] is seen, then one of the pair that was chosen by what was seen. *)

Definition scale (p q : Q) (l : law) : law := map (fun a => (p * fst a, q * snd a)) l.

Fixpoint joint (f : law) (rest : nat -> law) : law :=
  match f with
  | [] => []
  | (p, q) :: t => scale p q (rest O) ++ joint t (fun i => rest (S i))
  end.

Definition times (f g : law) : law := joint f (fun _ => g).

Lemma h_scale p q l x y : h (scale p q l) x y == h l (x * p) (y * q).
Proof.
  induction l as [|[a b] l IH]; cbn [scale map h fst snd]; [reflexivity|].
  unfold scale in IH. rewrite IH, !Qmult_assoc. reflexivity.
Qed.

Lemma h_joint f g : forall rest x y, nonneg f -> (forall i, dominates g (rest i)) -> 0 <= x -> 0 <= y ->
  h (joint f rest) x y <= h (times f g) x y.
Proof.
  unfold times.
  induction f as [|[p q] f IH]; intros rest x y N D X Y; cbn [joint]; [cbn; lra|].
  inversion N as [|? ? [P P'] N']; subst; cbn [fst snd] in *. rewrite !h_app, !h_scale.
  assert (A : 0 <= x * p) by nra. assert (B : 0 <= y * q) by nra.
  pose proof (D O (x * p) (y * q) A B). specialize (IH (fun i => rest (S i)) x y N' (fun i => D (S i)) X Y). lra.
Qed.

Lemma h_times_nil f x y : h (times f []) x y == 0.
Proof. unfold times. induction f as [|[p q] f IH]; cbn; [reflexivity|]. exact IH. Qed.

Lemma h_times_cons f p q g x y : h (times f ((p, q) :: g)) x y == h f (x * p) (y * q) + h (times f g) x y.
Proof.
  unfold times. induction f as [|[a b] f IH]; cbn [joint h]; [ring|].
  rewrite !h_app, !h_scale, IH. cbn [h].
  setoid_replace (x * a * p - y * b * q) with (x * p * a - y * q * b) by ring. ring.
Qed.

Lemma times_monotone f f' g : nonneg g -> dominates f' f -> dominates (times f' g) (times f g).
Proof.
  intros N D x y X Y. induction g as [|[p q] g IH]; [rewrite !h_times_nil; lra|].
  inversion N as [|? ? [P P'] N']; subst; cbn [fst snd] in *. rewrite !h_times_cons. specialize (IH N').
  assert (A : 0 <= x * p) by nra. assert (B : 0 <= y * q) by nra.
  pose proof (D (x * p) (y * q) A B). lra.
Qed.

(** Domination is closed under products, also for an adversary who chooses the second pair. *)
Theorem joint_dominated f f' g rest : nonneg f -> nonneg g -> dominates f' f -> (forall i, dominates g (rest i)) ->
  dominates (times f' g) (joint f rest).
Proof.
  intros N N' D D' x y X Y. pose proof (h_joint f g rest x y N D' X Y).
  pose proof (times_monotone f f' g N' D x y X Y). lra.
Qed.

Lemma scale_nonneg p q l : 0 <= p -> 0 <= q -> nonneg l -> nonneg (scale p q l).
Proof.
  intros P Q' N. induction N as [|[a b] l [A B] N IH]; cbn; constructor; cbn [fst snd] in *; auto. split; nra.
Qed.

Lemma times_nonneg f g : nonneg f -> nonneg g -> nonneg (times f g).
Proof.
  unfold times. induction 1 as [|[p q] l [P P'] N IH]; intro G; cbn [joint]; [constructor|].
  cbn [fst snd] in *. apply Forall_app; split; [apply scale_nonneg; auto|exact (IH G)].
Qed.

Lemma h_times_step a b f g x y : h (times ((a, b) :: f) g) x y == h g (x * a) (y * b) + h (times f g) x y.
Proof. unfold times. cbn [joint]. rewrite h_app, h_scale. reflexivity. Qed.

Lemma times_assoc f g k : forall x y, h (times (times f g) k) x y == h (times f (times g k)) x y.
Proof.
  induction k as [|[p q] k IH]; intros x y.
  - rewrite h_times_nil. induction f as [|[a b] f IHf]; [reflexivity|].
    rewrite h_times_step, <- IHf, h_times_nil. ring.
  - rewrite h_times_cons, IH. clear IH. revert x y.
    induction f as [|[a b] f IHf]; intros x y; [cbn; ring|].
    rewrite !h_times_step, h_times_cons, <- IHf.
    setoid_replace (x * p * a) with (x * a * p) by ring.
    setoid_replace (y * q * b) with (y * b * q) by ring. ring.
Qed.

Definition one : law := [(1, 1)].

Lemma one_nonneg : nonneg one.
Proof. repeat constructor; cbn; lra. Qed.

(** All that can be seen of a sequence of releases, if what is seen may choose each next pair of its class. *)
Fixpoint adaptive (classes : list (law -> Prop)) (l : law) : Prop :=
  match classes with
  | [] => l = one
  | class :: later => exists f rest, class f /\ (forall i, adaptive later (rest i)) /\ l = joint f rest
  end.

Definition covers (g : law) (class : law -> Prop) : Prop := forall l, class l -> nonneg l /\ dominates g l.

Fixpoint power (g : law) (n : nat) : law :=
  match n with
  | O => one
  | S m => times g (power g m)
  end.

Lemma power_nonneg g n : nonneg g -> nonneg (power g n).
Proof. intro N. induction n; cbn [power]; [apply one_nonneg|apply times_nonneg; auto]. Qed.

Lemma h_one_times g x y : h (times one g) x y == h g x y.
Proof. unfold times. cbn [joint one]. rewrite h_app, h_scale. cbn [h]. rewrite !Qmult_1_r. ring. Qed.

Lemma power_add g m n x y : nonneg g -> 0 <= x -> 0 <= y ->
  h (power g (m + n)) x y == h (times (power g m) (power g n)) x y.
Proof.
  intros N. revert x y. induction m as [|m IH]; intros x y X Y; cbn [plus power].
  - rewrite h_one_times. reflexivity.
  - rewrite times_assoc. apply Qle_antisym.
    + apply (joint_dominated g g); auto using dominates_refl, times_nonneg, power_nonneg.
      intros _ a b A B. rewrite IH by assumption. lra.
    + apply (joint_dominated g g); auto using dominates_refl, times_nonneg, power_nonneg.
      intros _ a b A B. rewrite IH by assumption. lra.
Qed.

Theorem composition gs classes : Forall nonneg gs -> Forall2 covers gs classes ->
  forall l, adaptive classes l -> nonneg l /\ dominates (fold_right times one gs) l.
Proof.
  intros N C. induction C as [|g class gs classes C Cs IH]; cbn [adaptive fold_right]; intros l A.
  - subst. split; [apply one_nonneg|apply dominates_refl].
  - inversion N as [|? ? Ng Ns]; subst. destruct A as (f & rest & F & R & ->). destruct (C f F) as [Nf Df]. split.
    + assert (R' : forall i, nonneg (rest i)) by (intro i; apply IH; auto). clear - Nf R'. revert rest R'.
      induction Nf as [|[p q] f [P P'] Nf IH]; intros rest R; cbn [joint]; [constructor|].
      cbn [fst snd] in *. apply Forall_app; split; [apply scale_nonneg; auto|apply IH; intro; apply R].
    + apply joint_dominated; auto; [|intro i; apply IH; auto]. clear - Ns.
      induction Ns; cbn [fold_right]; [apply one_nonneg|apply times_nonneg; assumption].
Qed.

Lemma composed g class n l : nonneg g -> covers g class -> adaptive (repeat class n) l ->
  nonneg l /\ dominates (power g n) l.
Proof.
  intros N C A.
  assert (E : power g n = fold_right times one (repeat g n)) by (clear; induction n as [|n IH]; cbn; congruence).
  rewrite E. apply (composition _ (repeat class n)); [| |exact A]; clear A E; induction n; constructor; auto.
Qed.

(** ** Larger weights of the first law, smaller ones of the second *)

Definition bounds (a b : Q * Q) : Prop := fst a <= fst b /\ snd b <= snd a.

Lemma bounded_dominates l l' : Forall2 bounds l l' -> dominates l' l.
Proof.
  induction 1 as [|[p q] [p' q'] l l' [A B] F IH]; intros x y X Y; cbn [h fst snd] in *; [lra|].
  specialize (IH x y X Y). assert (pos (x * p - y * q) <= pos (x * p' - y * q')); [apply pos_mono; nra|lra].
Qed.
