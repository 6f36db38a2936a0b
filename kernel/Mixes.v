(** Two kinds of pairs, the kind of each instance being fixed before anything is seen: sharper than what dominates both
    kinds in every instance. *)

From Kernel Require Export Checker.

(** ** Products of pairs do not depend on the order *)

Definition equal (f g : law) : Prop := dominates f g /\ dominates g f.

Lemma equal_h f g : (forall x y, h f x y == h g x y) -> equal f g.
Proof. intro E. split; intros x y _ _; rewrite E; apply Qle_refl. Qed.

Lemma equal_trans f g k : equal f g -> equal g k -> equal f k.
Proof. intros [A B] [C D]. split; eapply dominates_trans; eassumption. Qed.

Lemma times_comm f g : equal (times f g) (times g f).
Proof.
  apply equal_h. induction f as [|[a b] f IH]; intros x y; [rewrite h_times_nil; reflexivity|].
  rewrite h_times_step, h_times_cons, IH. reflexivity.
Qed.

Lemma assoc f g k : equal (times (times f g) k) (times f (times g k)).
Proof. apply equal_h. intros. apply times_assoc. Qed.

Lemma times_dominates f f' g g' : nonneg f -> nonneg g' -> dominates f' f -> dominates g' g ->
  dominates (times f' g') (times f g).
Proof. intros N N' D D'. apply joint_dominated; auto. Qed.

Lemma times_equal f f' g g' : nonneg f -> nonneg f' -> nonneg g -> nonneg g' -> equal f f' -> equal g g' ->
  equal (times f g) (times f' g').
Proof. intros N N' M M' [A B] [C D]. split; apply times_dominates; assumption. Qed.

Lemma equal_refl f : equal f f.
Proof. split; apply dominates_refl. Qed.

Lemma power_dominates g l n : nonneg g -> nonneg l -> dominates g l -> dominates (power g n) (power l n).
Proof.
  intros N M D. induction n as [|n IH]; cbn [power]; [apply dominates_refl|].
  apply times_dominates; auto using power_nonneg.
Qed.

Lemma power_plus g m n : nonneg g -> equal (power g (m + n)) (times (power g m) (power g n)).
Proof. intro N. split; intros x y X Y; rewrite power_add by assumption; apply Qle_refl. Qed.

Definition kinds (A B : law) (first : list bool) : list law := map (fun d : bool => if d then A else B) first.

Notation count := (count_occ Bool.bool_dec).

Lemma sorted A B : nonneg A -> nonneg B -> forall first,
  equal (fold_right times one (kinds A B first)) (times (power A (count first true)) (power B (count first false))).
Proof.
  intros N M. assert (P : forall f, nonneg (fold_right times one (kinds A B f))).
  { unfold kinds. induction f as [|[|] f IH]; cbn [map fold_right]; auto using one_nonneg, times_nonneg. }
  unfold kinds in *. induction first as [|[|] first IH]; cbn [map fold_right count_occ].
  - apply equal_h. intros. rewrite h_one_times. reflexivity.
  - destruct (Bool.bool_dec true true), (Bool.bool_dec true false); try congruence. cbn [power].
    eapply equal_trans; [|apply equal_trans with (1 := equal_refl _); split; apply assoc].
    apply times_equal; auto using equal_refl, times_nonneg, power_nonneg.
  - destruct (Bool.bool_dec false true), (Bool.bool_dec false false); try congruence. cbn [power].
    set (a := power A (count first true)) in *. set (b := power B (count first false)) in *.
    assert (Na : nonneg a) by (apply power_nonneg; assumption).
    assert (Nb : nonneg b) by (apply power_nonneg; assumption).
    apply (equal_trans _ (times B (times a b))); [apply times_equal; auto using equal_refl, times_nonneg|].
    apply (equal_trans _ (times (times B a) b)); [split; apply assoc|].
    apply (equal_trans _ (times (times a B) b)); [|apply assoc].
    apply times_equal; auto using equal_refl, times_nonneg, times_comm.
Qed.

Section Mixes.

Variables t o : positive.
Variable mul : list Z -> list Z -> list Z.
Hypothesis mul_ok : forall a b, whole a -> whole b -> mul a b = pmul a b.
Variables low high : Z.

Notation pair := (pair t (s o)).

Definition times_many (n : nat) (M : measure) (N : option measure) : option measure :=
  match n, N with
  | 0%nat, _ => N
  | _, None => Some (many o mul low high (Pos.of_nat n) M)
  | _, Some N => Some (combined o mul low high (many o mul low high (Pos.of_nat n) M) N)
  end.

Definition is_valid (N : option measure) : Prop := match N with Some N => valid N | None => True end.
Definition law_of (N : option measure) : law := match N with Some N => pair N | None => one end.

Lemma times_many_ok n M N l : valid M -> is_valid N -> nonneg l -> dominates (law_of N) l ->
  is_valid (times_many n M N) /\ dominates (law_of (times_many n M N)) (times (power (pair M) n) l).
Proof.
  intros V W L D. destruct n as [|n]; cbn [times_many].
  - split; [exact W|]. cbn [power]. intros x y X Y. rewrite h_one_times. apply D; assumption.
  - destruct (many_ok t o mul mul_ok low high M V (Pos.of_nat (S n))) as [V' D']. rewrite Nat2Pos.id in D' by lia.
    pose proof (power_nonneg (pair M) (S n) (pair_whole t o M V)) as P.
    destruct N as [N|]; cbn [is_valid law_of] in *.
    + destruct (combined_ok t o mul mul_ok low high _ N V' W) as [V2 D2]. split; [exact V2|].
      eapply dominates_trans; [exact D2|]. apply times_dominates; auto using pair_whole.
    + split; [exact V'|].
      eapply dominates_trans; [|apply times_dominates with (f' := power (pair M) (S n)) (g' := one)];
        auto using dominates_refl, one_nonneg.
      eapply dominates_trans; [exact D'|]. intros x y X Y. unfold one.
      rewrite h_times_cons, h_times_nil, !Qmult_1_r. lra.
Qed.

Variables A B S : measure.
Hypothesis VA : valid A.
Hypothesis VB : valid B.
Hypothesis VS : valid S.
Hypothesis SA : dominates (pair S) (pair A).
Hypothesis SB : dominates (pair S) (pair B).

(** At least c instances are of the first kind, at most e, of n. *)
Definition block (n c e : nat) : option measure :=
  times_many c A (times_many (e - c) S (times_many (n - e) B None)).

Lemma block_ok n c e i j : (c <= i)%nat -> (i <= e)%nat -> (e <= n)%nat -> (i + j = n)%nat ->
  is_valid (block n c e) /\ dominates (law_of (block n c e)) (times (power (pair A) i) (power (pair B) j)).
Proof.
  intros C E N IJ. pose proof (pair_whole t o A VA) as NA. pose proof (pair_whole t o B VB) as NB.
  pose proof (pair_whole t o S VS) as NS. unfold block.
  destruct (times_many_ok (n - e) B None one VB I one_nonneg (dominates_refl _)) as [V1 D1].
  assert (E1 : dominates (times (power (pair B) (n - e)) one) (power (pair B) (n - e))).
  { intros x y X Y. unfold one. rewrite h_times_cons, h_times_nil, !Qmult_1_r. lra. }
  pose proof (dominates_trans _ _ _ D1 E1) as D1'.
  destruct (times_many_ok (e - c) S _ _ VS V1 (power_nonneg _ (n - e) NB) D1') as [V2 D2].
  destruct (times_many_ok c A _ _ VA V2 (times_nonneg _ _ (power_nonneg _ (e - c) NS) (power_nonneg _ (n - e) NB)) D2)
    as [V3 D3].
  split; [exact V3|]. eapply dominates_trans; [exact D3|].
  replace i with (c + (i - c))%nat by lia. replace j with ((e - i) + (n - e))%nat by lia.
  replace (e - c)%nat with ((i - c) + (e - i))%nat by lia.
  set (a := power (pair A) c). set (a' := power (pair A) (i - c)). set (b := power (pair B) (n - e)).
  set (b' := power (pair B) (e - i)). set (s1 := power (pair S) (i - c)). set (s2 := power (pair S) (e - i)).
  assert (P : nonneg a /\ nonneg a' /\ nonneg b /\ nonneg b' /\ nonneg s1 /\ nonneg s2)
    by (repeat split; apply power_nonneg; assumption). destruct P as (Pa & Pa' & Pb & Pb' & P1 & P2).
  assert (Q1 : dominates s1 a') by (apply power_dominates; assumption).
  assert (Q2 : dominates s2 b') by (apply power_dominates; assumption).
  apply (dominates_trans _ (times a (times (times s1 s2) b))).
  { apply times_dominates; auto using dominates_refl, times_nonneg, power_nonneg.
    apply times_dominates; auto using dominates_refl, times_nonneg, power_nonneg. apply power_plus. assumption. }
  apply (dominates_trans _ (times (times a a') (times b' b))).
  2: { apply times_dominates; auto using times_nonneg, power_nonneg; apply power_plus; assumption. }
  eapply dominates_trans; [|apply assoc]. apply times_dominates; auto using dominates_refl, times_nonneg.
  eapply dominates_trans; [apply assoc|]. apply times_dominates; auto using times_nonneg.
  apply times_dominates; auto using dominates_refl.
Qed.

Variable c : claim.

Definition block_shows (from to : nat) : bool :=
  match block (Pos.to_nat (instances c)) from to with
  | Some N => shows_claim t o N c
  | None => false
  end.

Fixpoint blocks (from : nat) (cuts : list nat) : bool :=
  match cuts with
  | [] => block_shows from (Pos.to_nat (instances c))
  | to :: later => (to <=? Pos.to_nat (instances c))%nat && block_shows from to && blocks to later
  end.

Variables first_kind second_kind : law -> Prop.
Hypothesis CA : covers (pair A) first_kind.
Hypothesis CB : covers (pair B) second_kind.

Definition mixed (first : list bool) : list (law -> Prop) :=
  map (fun d : bool => if d then first_kind else second_kind) first.

Theorem blocks_ok cuts : blocks 0 cuts = true -> forall first, length first = Pos.to_nat (instances c) ->
  forall l, adaptive (mixed first) l -> obeys l c.
Proof.
  intros K first L l M. pose proof (pair_whole t o A VA) as NA. pose proof (pair_whole t o B VB) as NB.
  destruct (composition (kinds (pair A) (pair B) first) (mixed first)) with (l := l) as [N D]; [| |exact M|].
  { apply Forall_map, Forall_forall. intros [|] _; assumption. }
  { unfold kinds, mixed. clear - CA CB. induction first as [|[|] f IH]; constructor; assumption. }
  pose proof (sorted _ _ NA NB first) as [D' _]. set (i := count first true) in *. set (j := count first false) in *.
  assert (IJ : (i + j = Pos.to_nat (instances c))%nat).
  { rewrite <- L. unfold i, j. clear. induction first as [|[|] f IH]; cbn; lia. }
  assert (shown : forall from to, (from <= i)%nat -> (i <= to)%nat -> (to <= Pos.to_nat (instances c))%nat ->
    block_shows from to = true -> obeys l c).
  { intros from to F T H R. unfold block_shows in R. destruct (block_ok _ from to i j F T H IJ) as [V R'].
    destruct (block _ from to) as [X|]; [|discriminate]. apply (shows_claim_ok t o X c l V N); [|exact R].
    eapply dominates_trans; [exact R'|]. eapply dominates_trans; [|exact D]. apply sorted; assumption. }
  assert (Z : (0 <= i)%nat) by lia. revert K Z. generalize 0%nat.
  induction cuts as [|to later IH]; intros from K F; cbn [blocks] in K.
  - apply (shown from (Pos.to_nat (instances c))); auto. lia.
  - rewrite !andb_true_iff in K. destruct K as [[T K] K']. apply Nat.leb_le in T.
    destruct (Nat.le_ge_cases i to) as [H|H]; [exact (shown from to F H T K)|exact (IH to K' H)].
Qed.

End Mixes.
