(** Lower bounds on laws, in integers: products of lists, of which only a window is kept. *)

From Kernel Require Export Steps Kronecker.

Lemma conv_linear c x : forall j a b, conv (fun k => x * a k + b k)%Z c j = (x * conv a c j + conv b c j)%Z.
Proof.
  induction j as [|j IH]; intros a b; cbn [conv]; [lia|].
  rewrite (IH (fun k => a (S k)) (fun k => b (S k))). lia.
Qed.

Lemma conv_assoc b c : forall j a, conv (conv a b) c j = conv a (conv b c) j.
Proof.
  induction j as [|j IH]; intro a; cbn [conv]; [lia|].
  rewrite (conv_linear c (a 0%nat) j (fun k => b (S k)) (conv (fun k => a (S k)) b)), IH. lia.
Qed.

Lemma conv_one b : forall j, conv (fun k => co [1%Z] k) b j = b j.
Proof. intros [|j]; cbn [conv nth]; [lia|]. rewrite conv_zero; [lia|]. intros [|k]; reflexivity. Qed.

(** ** Lists of masses that begin at a count *)

Definition block : Set := nat * list Z.

Definition mass (b : block) (j : nat) : Z := if (j <? fst b)%nat then 0%Z else co (snd b) (j - fst b).

Lemma conv_left b l : forall f j, conv (mass (f, l)) b j =
  if (j <? f)%nat then 0%Z else conv (fun k => co l k) b (j - f).
Proof.
  induction f as [|f IH]; intro j.
  - rewrite Nat.sub_0_r. apply conv_eq; [|auto]. intro k. unfold mass; cbn. rewrite Nat.sub_0_r. reflexivity.
  - destruct j as [|j]; [reflexivity|]. cbn [conv]. exact (IH j).
Qed.

Lemma conv_right m g : forall j a, conv a (mass (g, m)) j =
  if (j <? g)%nat then 0%Z else conv a (fun k => co m k) (j - g).
Proof.
  induction j as [|j IH]; intro a; cbn [conv].
  - unfold mass; cbn [fst snd]. destruct g; cbn; [reflexivity|lia].
  - rewrite IH. unfold mass; cbn [fst snd].
    destruct (Nat.ltb_spec (S j) g), (Nat.ltb_spec j g); try lia.
    + replace (S j - g)%nat with 0%nat by lia. cbn [conv]. lia.
    + replace (S j - g)%nat with (S (j - g)) by lia. cbn [conv]. lia.
Qed.

Lemma mass_pmul f l g m j : mass (f + g, pmul l m)%nat j = conv (mass (f, l)) (mass (g, m)) j.
Proof.
  rewrite conv_left. unfold mass at 1; cbn [fst snd].
  destruct (Nat.ltb_spec j f); [destruct (Nat.ltb_spec j (f + g)); lia|].
  rewrite conv_right, co_pmul. destruct (Nat.ltb_spec j (f + g)), (Nat.ltb_spec (j - f) g); try lia.
  f_equal. lia.
Qed.

Section Laws.

Variable o : positive.  (* masses are over o *)

Notation O := (Zpos o) (only parsing).

Definition floor (m : Z) : Z := quotient m O.

Lemma floor_le m : (floor m * O <= m)%Z.
Proof. unfold floor. rewrite quotient_eq. pose proof (Z.mul_div_le m O). lia. Qed.

Lemma floor_nonneg m : (0 <= m -> 0 <= floor m)%Z.
Proof. intro. unfold floor. rewrite quotient_eq. apply Z.div_pos; lia. Qed.

(** The masses a, over o, are lower bounds on the weights N, over W. *)
Definition under (W : positive) (a N : nat -> Z) : Prop := forall j, (0 <= a j /\ a j * Zpos W <= N j * O)%Z.

Lemma under_eq W a a' N N' : (forall j, a j = a' j) -> (forall j, N j = N' j) -> under W a N -> under W a' N'.
Proof. intros A E U j. rewrite <- A, <- E. apply U. Qed.

Lemma conv_under W W' b N' : under W' b N' -> forall j a N, under W a N ->
  (0 <= conv a b j /\ conv a b j * (Zpos W * Zpos W') <= conv N N' j * (O * O))%Z.
Proof.
  intros V.
  assert (two : forall a N, under W a N -> forall i, (0 <= a 0%nat * b i /\
    a 0%nat * b i * (Zpos W * Zpos W') <= N 0%nat * N' i * (O * O))%Z).
  { intros a N U i. destruct (U 0%nat) as [A A'], (V i) as [B B']. split; [nia|].
    pose proof (Z.mul_le_mono_nonneg _ _ _ _ (Z.mul_nonneg_nonneg _ (Zpos W) A ltac:(lia)) A'
      (Z.mul_nonneg_nonneg _ (Zpos W') B ltac:(lia)) B'). lia. }
  induction j as [|j IH]; intros a N U; cbn [conv]; [exact (two a N U 0%nat)|].
  pose proof (two a N U (S j)). specialize (IH (fun k => a (S k)) (fun k => N (S k)) (fun k => U (S k))). lia.
Qed.

Definition floored (b : block) : block := (fst b, map floor (snd b)).

Lemma mass_floored b j : mass (floored b) j = floor (mass b j).
Proof.
  assert (Z0 : floor 0 = 0%Z) by (unfold floor; rewrite quotient_eq; apply Z.div_0_l; lia).
  unfold mass, floored; cbn [fst snd]. destruct (j <? fst b)%nat; [auto|]. rewrite <- (map_nth floor), Z0. reflexivity.
Qed.

Variable mul : list Z -> list Z -> list Z.
Hypothesis mul_ok : forall a b, whole a -> whole b -> mul a b = pmul a b.

Lemma under_whole W f l N : under W (mass (f, l)) N -> whole l.
Proof.
  intro U. apply Forall_forall. intros m M. destruct (In_nth _ _ 0%Z M) as (j & J & <-).
  destruct (U (f + j)%nat) as [A _]. unfold mass in A; cbn [fst snd] in A.
  destruct (Nat.ltb_spec (f + j) f); [lia|]. replace (f + j - f)%nat with j in A by lia. exact A.
Qed.

Definition mix (a b : block) : block := floored (fst a + fst b, mul (snd a) (snd b))%nat.

Lemma mix_ok W W' a b N N' : under W (mass a) N -> under W' (mass b) N' -> under (W * W') (mass (mix a b)) (conv N N').
Proof.
  destruct a as [f l], b as [g m]. intros U V j. unfold mix; cbn [fst snd].
  rewrite mul_ok by (eapply under_whole; eassumption). rewrite mass_floored, mass_pmul.
  destruct (conv_under W W' _ N' V j _ N U) as [A B]. split; [apply floor_nonneg, A|].
  pose proof (Z.mul_le_mono_nonneg_r _ _ (Zpos W * Zpos W') ltac:(lia) (floor_le (conv (mass (f, l)) (mass (g, m)) j))).
  apply (Z.mul_le_mono_pos_r _ _ O); [reflexivity|]. rewrite Pos2Z.inj_mul. lia.
Qed.

(** Ends that are small are left out. *)
Variable tiny : Z.

Fixpoint drop (f : nat) (l : list Z) : block :=
  match l with [] => (f, []) | m :: r => if (m <? tiny)%Z then drop (S f) r else (f, l) end.

Fixpoint chop (l : list Z) : list Z :=
  match l with
  | [] => []
  | m :: r => match chop r with [] => if (m <? tiny)%Z then [] else [m] | r => m :: r end
  end.

Definition trim (b : block) : block := drop (fst b) (chop (snd b)).

Lemma co_chop l : forall j, co (chop l) j = co l j \/ co (chop l) j = 0%Z.
Proof.
  induction l as [|m l IH]; intro j; [left; reflexivity|]. cbn [chop]. destruct (chop l) as [|x r].
  - destruct (m <? tiny)%Z; [right; apply co_nil|]. destruct j; cbn [nth]; [left; reflexivity|right; apply co_nil].
  - destruct j; cbn [nth]; [left; reflexivity|exact (IH j)].
Qed.

Lemma mass_drop l : forall f j, mass (drop f l) j = mass (f, l) j \/ mass (drop f l) j = 0%Z.
Proof.
  induction l as [|m l IH]; intros f j; cbn [drop]; [left; reflexivity|].
  destruct (m <? tiny)%Z; [|left; reflexivity]. destruct (IH (S f) j) as [E|E]; [|right; exact E]. rewrite E.
  unfold mass; cbn [fst snd]. destruct (Nat.ltb_spec j (S f)); [right; reflexivity|]. left.
  destruct (Nat.ltb_spec j f); [lia|]. replace (j - f)%nat with (S (j - S f)) by lia. reflexivity.
Qed.

Lemma trim_ok W b N : under W (mass b) N -> under W (mass (trim b)) N.
Proof.
  intros U j. specialize (U j). assert (0 <= N j)%Z by nia. unfold trim.
  destruct (mass_drop (chop (snd b)) (fst b) j) as [E|E]; rewrite E; [|nia].
  unfold mass in *; cbn [fst snd] in *. destruct (j <? fst b)%nat; [lia|].
  destruct (co_chop (snd b) (j - fst b)) as [E'|E']; rewrite E'; lia.
Qed.

(** ** Lower bounds are enough: what they leave of the first law may all be lost *)

Fixpoint weight (l : law) : Q := match l with [] => 0 | a :: l => fst a + weight l end.

Fixpoint firsts (atoms : list (Z * Z)) : Z := match atoms with [] => 0%Z | a :: l => (fst a + firsts l)%Z end.

Definition below_law (z : Z * Z) (a : Q * Q) : Prop :=
  (0 <= fst z)%Z /\ (0 <= snd z)%Z /\ s o * !(fst z) <= fst a /\ s o * !(snd z) <= snd a.

Lemma h_lower x y : 0 <= x -> 0 <= y -> forall l atoms,
  (forall j, below_law (nth j atoms (0, 0)%Z) (nth j l (0, 0))) ->
  h l x y <= h (atom_law o atoms) x y + x * (weight l - s o * !(firsts atoms)).
Proof.
  intros X Y. pose proof (s_pos o) as SP. induction l as [|[p q] l IH]; intros atoms U.
  - assert (E : firsts atoms = 0%Z).
    { induction atoms as [|z atoms IH]; [reflexivity|]. cbn [firsts].
      assert (E : firsts atoms = 0%Z).
      { apply IH. intro j. specialize (U (S j)). cbn [nth] in U. destruct j; exact U. }
      destruct (U 0%nat) as (A & _ & B & _). cbn [nth fst snd] in *. apply nonneg_Q in A.
      assert (F : !(fst z) == 0) by nra. unfold Qeq in F; cbn in F. lia. }
    rewrite E. cbn [h weight]. change (!0) with 0. pose proof (h_nonneg (atom_law o atoms) x y). lra.
  - destruct atoms as [|[a b] atoms].
    + specialize (IH []). cbn [h weight atom_law map firsts fst] in *. change (!0) with 0 in *.
      destruct (U 0%nat) as (_ & _ & A & B). cbn [nth fst snd] in A, B. change (!0) with 0 in A, B.
      assert (0 <= x * p) by nra. assert (0 <= y * q) by nra.
      assert (H1 : pos (x * p - y * q) <= x * p) by (positive; lra).
      assert (H2 : h l x y <= 0 + x * (weight l - s o * 0)).
      { apply IH. intro j. specialize (U (S j)). cbn [nth] in *. destruct j; exact U. }
      lra.
    + specialize (IH atoms (fun j => U (S j))). destruct (U 0%nat) as (A & B & A' & B').
      cbn [nth fst snd h weight atom_law map firsts] in *. fold (atom_law o atoms). rewrite inject_Z_plus.
      assert (H : pos (x * p - y * q) <= pos (x * (s o * !a) - y * (s o * !b)) + x * (p - s o * !a)).
      { pose proof (mul_le_l y _ _ Y B'). assert (0 <= x * (p - s o * !a)) by nra. positive; lra. }
      lra.
Qed.

Lemma nth_padded f la : forall lb, length la = length lb -> forall j,
  nth j (repeat (0, 0)%Z f ++ combine la lb) (0, 0)%Z = (mass (f, la) j, mass (f, lb) j).
Proof.
  intros lb L j. unfold mass; cbn [fst snd]. destruct (Nat.ltb_spec j f).
  - rewrite app_nth1 by (rewrite repeat_length; assumption). apply nth_repeat.
  - rewrite app_nth2, repeat_length by (rewrite repeat_length; assumption). apply combine_nth. assumption.
Qed.

Definition completed (atoms : list (Z * Z)) : list (Z * Z) := atoms ++ [(Z.max 0 (O - firsts atoms), 0)%Z].

Lemma completed_ok l f atoms : weight l <= 1 ->
  (forall j, below_law (nth j (repeat (0, 0)%Z f ++ atoms) (0, 0)%Z) (nth j l (0, 0))) ->
  dominates (atom_law o (completed atoms)) l.
Proof.
  intros W U x y X Y. pose proof (h_lower x y X Y l _ U) as H. pose proof (s_pos o) as SP.
  assert (E : firsts (repeat (0, 0)%Z f ++ atoms) = firsts atoms)
    by (clear; induction f as [|f IH]; [reflexivity|exact IH]).
  assert (E' : h (atom_law o (repeat (0, 0)%Z f ++ atoms)) x y == h (atom_law o atoms) x y).
  { clear. unfold atom_law. rewrite map_app, h_app.
    assert (E : h (map (fun a => (s o * !(fst a), s o * !(snd a))) (repeat (0, 0)%Z f)) x y == 0);
      [|rewrite E; ring]. induction f as [|f IH]; cbn [repeat map h fst snd]; [reflexivity|]. rewrite IH.
    change (!0) with 0. positive; lra. }
  rewrite E, E' in H. unfold completed, atom_law. rewrite map_app, h_app. fold (atom_law o atoms). cbn [map h fst snd].
  set (m := Z.max 0 (O - firsts atoms)). assert (M : !(O - firsts atoms) <= !m) by (apply le_Q; lia).
  unfold Z.sub in M. rewrite inject_Z_plus, inject_Z_opp in M. change (!0) with 0.
  pose proof (mul_le_l (s o) _ _ ltac:(lra) M) as M'. pose proof (s_times o).
  assert (D : weight l - s o * !(firsts atoms) <= s o * !m) by lra.
  pose proof (mul_le_l x _ _ X D). positive; lra.
Qed.

End Laws.
