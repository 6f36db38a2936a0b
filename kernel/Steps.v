(** Instances one after another, from the last one: sharper than the worst of several measures in every instance.

    Let G dominate all that may follow. Whoever chooses the first of these instances chooses one measure M of several,
    before anything is seen; so the worst of all products M G dominates both. What is worst then need not be the worst of
    each instance: it is the worst of all choices that may be made by what was seen. *)

From Kernel Require Export Checker.

(** What is seen of n instances of a class, and of what comes after them; each is chosen by what was seen. *)
Fixpoint followed (class : law -> Prop) (n : nat) (last : law -> Prop) (l : law) : Prop :=
  match n with
  | 0%nat => last l
  | S n => exists f rest, class f /\ (forall i, followed class n last (rest i)) /\ l = joint f rest
  end.

Lemma adaptive_followed class n : forall l, adaptive (repeat class n) l -> followed class n (fun l => l = one) l.
Proof.
  induction n as [|n IH]; intros l A; cbn in *; [exact A|]. destruct A as (f & rest & F & R & E).
  exists f, rest. auto.
Qed.

Lemma followed_split class last n m : forall l, followed class (m + n) last l ->
  followed class m (followed class n last) l.
Proof.
  induction m as [|m IH]; intros l A; cbn in *; [exact A|]. destruct A as (f & rest & F & R & E).
  exists f, rest. auto.
Qed.

Lemma joint_nonneg f : nonneg f -> forall rest, (forall i, nonneg (rest i)) -> nonneg (joint f rest).
Proof.
  induction 1 as [|[p q] f [P P'] N IH]; intros rest R; cbn [joint]; [constructor|]. cbn [fst snd] in *.
  apply Forall_app. split; [apply scale_nonneg; auto|apply IH; intro; apply R].
Qed.

Section Steps.

Variables t o : positive.
Variable mul : list Z -> list Z -> list Z.
Hypothesis mul_ok : forall a b, whole a -> whole b -> mul a b = pmul a b.

Notation pair := (pair t (s o)).

Variable Ms : list measure.
Variable class : law -> Prop.
Hypothesis class_ok : forall l, class l -> nonneg l /\ exists M, In M Ms /\ valid M /\ dominates (pair M) l.

Variables low high : Z.

(** The worst of n + 1 instances. *)
Fixpoint steps (n : nat) : option measure :=
  match n with
  | 0%nat => worst t Ms
  | S n => match steps n with Some G => worst t (map (fun M => combined o mul low high M G) Ms) | None => None end
  end.

Lemma joined f rest g G : nonneg f -> nonneg g -> dominates G f -> (forall i, nonneg (rest i) /\ dominates g (rest i)) ->
  nonneg (joint f rest) /\ dominates (times G g) (joint f rest).
Proof.
  intros N Ng D R. split; [apply joint_nonneg; [exact N|apply R]|]. apply joint_dominated; auto. apply R.
Qed.

Lemma steps_ok n : forall G, steps n = Some G ->
  valid G /\ forall g last, nonneg g -> covers g last -> covers (times (pair G) g) (followed class (S n) last).
Proof.
  induction n as [|n IH]; intros G E; cbn [steps] in E.
  - destruct (worst_ok t o Ms G class E class_ok) as [V C]. split; [exact V|].
    intros g last N L l (f & rest & F & R & ->). destruct (C f F) as [Nf Df].
    apply joined; auto. intro i. exact (L _ (R i)).
  - destruct (steps n) as [P|]; [|discriminate]. destruct (IH P eq_refl) as [VP K]. clear IH.
    assert (C : forall M, In M Ms -> valid M -> valid G /\ dominates (pair G) (times (pair M) (pair P))).
    { intros M I VM. destruct (combined_ok t o mul mul_ok low high M P VM VP) as [VC DC].
      set (C := combined o mul low high M P) in *.
      destruct (worst_ok t o _ G (fun l => l = pair C) E) as [VG W].
      - intros l ->. split; [apply pair_whole, VC|]. exists C.
        split; [apply in_map_iff; exists M; auto|]. split; [exact VC|apply dominates_refl].
      - split; [exact VG|]. eapply dominates_trans; [apply (W _ eq_refl)|exact DC]. }
    split.
    { destruct (worst_ok t o _ G (fun _ => False) E) as [VG _]; [contradiction|exact VG]. }
    intros g last N L l (f & rest & F & R & ->). destruct (class_ok f F) as (Nf & M & I & VM & Df).
    destruct (C M I VM) as [VG D]. pose proof (pair_whole t o M VM) as NM. pose proof (pair_whole t o P VP) as NP.
    destruct (joined f rest (times (pair P) g) (pair M)) as [NJ DJ]; auto using times_nonneg.
    { intro i. exact (K g last N L _ (R i)). }
    split; [exact NJ|]. apply (dominates_trans _ (times (pair M) (times (pair P) g))); [|exact DJ].
    apply (dominates_trans _ (times (times (pair M) (pair P)) g)); [apply times_monotone; assumption|].
    intros x y _ _. rewrite times_assoc. apply Qle_refl.
Qed.

(** ** Blocks of such instances, each taken to be the worst whatever the others showed *)

Variables low' high' : Z.

Fixpoint number (parts : list (nat * positive)) : nat :=
  match parts with [] => 0 | (n, k) :: later => Pos.to_nat k * S n + number later end.

Fixpoint together (parts : list (nat * positive)) : option measure :=
  match parts with
  | [] => None
  | (n, k) :: later =>
    match steps n with
    | None => None
    | Some G =>
      let N := many o mul low' high' k G in
      match later with
      | [] => Some N
      | _ => match together later with Some L => Some (combined o mul low' high' N L) | None => None end
      end
    end
  end.

Lemma blocks_ok n G : steps n = Some G -> forall k g last, nonneg g -> covers g last ->
  covers (times (power (pair G) k) g) (followed class (k * S n) last).
Proof.
  intro E. destruct (steps_ok n G E) as [V K]. pose proof (pair_whole t o G V) as NG.
  induction k as [|k IH]; intros g last N C l A.
  - cbn [mult followed power] in *. destruct (C l A) as [Nl D]. split; [exact Nl|]. intros x y X Y.
    rewrite h_one_times. apply D; assumption.
  - change (S k * S n)%nat with (S n + k * S n)%nat in A. apply followed_split in A.
    destruct (K (times (power (pair G) k) g) (followed class (k * S n) last)) with (l := l) as [Nl D];
      auto using times_nonneg, power_nonneg.
    split; [exact Nl|]. eapply dominates_trans; [|exact D]. intros x y _ _. cbn [power]. rewrite times_assoc.
    apply Qle_refl.
Qed.

Lemma together_ok parts : forall N, together parts = Some N ->
  valid N /\ covers (pair N) (followed class (number parts) (fun l => l = one)).
Proof.
  induction parts as [|[n k] later IH]; intros N E; cbn [together number] in *; [discriminate|].
  destruct (steps n) as [G|] eqn:S; [|discriminate]. destruct (steps_ok n G S) as [V _].
  destruct (many_ok t o mul mul_ok low' high' G V k) as [VN DN]. pose proof (pair_whole t o G V) as NG.
  set (M := many o mul low' high' k G) in *. clearbody M.
  assert (whole_one : covers one (fun l => l = one)).
  { intros l ->. split; [apply one_nonneg|apply dominates_refl]. }
  destruct later as [|part later].
  - injection E as <-. split; [exact VN|]. intros l A. cbn [number] in A. rewrite Nat.add_0_r in A.
    destruct (blocks_ok n G S _ one _ one_nonneg whole_one l A) as [Nl D]. split; [exact Nl|].
    eapply dominates_trans; [exact DN|]. eapply dominates_trans; [|exact D]. intros x y _ _.
    unfold one. rewrite h_times_cons, h_times_nil, !Qmult_1_r. lra.
  - destruct (together (part :: later)) as [L|]; [|discriminate]. injection E as <-.
    destruct (IH L eq_refl) as [VL C]. pose proof (pair_whole t o L VL) as NL.
    destruct (combined_ok t o mul mul_ok low' high' M L VN VL) as [VC DC]. split; [exact VC|].
    intros l A. apply followed_split in A.
    destruct (blocks_ok n G S _ (pair L) _ NL C l A) as [Nl D]. split; [exact Nl|].
    eapply dominates_trans; [exact DC|]. eapply dominates_trans; [|exact D]. apply times_monotone; assumption.
Qed.

Definition certified (c : claim) : bool :=
  (number (runs c) =? Pos.to_nat (instances c))%nat &&
  match together (runs c) with Some N => shows_claim t o N c | None => false end.

Theorem certified_ok c : certified c = true -> private class c.
Proof.
  intros A l L. apply andb_true_iff in A as [E A]. apply Nat.eqb_eq in E.
  destruct (together (runs c)) as [N|] eqn:T; [|discriminate]. destruct (together_ok _ N T) as [V C].
  rewrite E in C. destruct (C l (adaptive_followed _ _ _ L)) as [Nl D]. exact (shows_claim_ok t o N c l V Nl D A).
Qed.

End Steps.
