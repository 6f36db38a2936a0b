(** Products of polynomials by Karatsuba's rule: the same list as [pmul], from fewer products of numbers. *)

From Kernel Require Export Measures.

Notation co l j := (nth j l 0%Z).

Definition same (a b : list Z) : Prop := forall j, co a j = co b j.

Fixpoint shift (n : nat) (l : list Z) : list Z := match n with O => l | S n => 0%Z :: shift n l end.

Definition minus (a b : list Z) : list Z := padd a (map Z.opp b).

Lemma co_nil j : co (@nil Z) j = 0%Z.
Proof. destruct j; reflexivity. Qed.

Lemma co_padd a : forall b j, co (padd a b) j = (co a j + co b j)%Z.
Proof.
  induction a as [|x a IH]; intros [|y b] j; cbn [padd]; rewrite ?co_nil; try lia.
  destruct j; cbn [nth]; [reflexivity|apply IH].
Qed.

Lemma co_map x b : forall j, co (map (Z.mul x) b) j = (x * co b j)%Z.
Proof. induction b as [|y b IH]; intro j; cbn [map]; rewrite ?co_nil; [lia|]. destruct j; cbn [nth]; auto. Qed.

Lemma co_opp b : forall j, co (map Z.opp b) j = (- co b j)%Z.
Proof. induction b as [|y b IH]; intro j; cbn [map]; rewrite ?co_nil; [lia|]. destruct j; cbn [nth]; auto. Qed.

Lemma co_minus a b j : co (minus a b) j = (co a j - co b j)%Z.
Proof. unfold minus. rewrite co_padd, co_opp. lia. Qed.

Definition before (l : list Z) (j : nat) : Z := match j with O => 0%Z | S i => co l i end.

Lemma co_cons l j : co (0%Z :: l) j = before l j.
Proof. destruct j; reflexivity. Qed.

Lemma co_pmul x a b j : co (pmul (x :: a) b) j = (x * co b j + before (pmul a b) j)%Z.
Proof. cbn [pmul]. rewrite co_padd, co_map, co_cons. reflexivity. Qed.

Lemma before_same a b : same a b -> forall j, before a j = before b j.
Proof. intros E [|j]; cbn; [reflexivity|apply E]. Qed.

Lemma shift_same n a b : same a b -> same (shift n a) (shift n b).
Proof. intro E. induction n as [|n IH]; intro j; cbn [shift]; [apply E|]. destruct j; cbn; [reflexivity|apply IH]. Qed.

Lemma pmul_same a : forall b b', same b b' -> same (pmul a b) (pmul a b').
Proof.
  induction a as [|x a IH]; intros b b' E j; [reflexivity|]. rewrite !co_pmul, E, (before_same _ _ (IH b b' E)). reflexivity.
Qed.

Lemma pmul_left a : forall a' b, same (pmul (padd a a') b) (padd (pmul a b) (pmul a' b)).
Proof.
  induction a as [|x a IH]; intros [|y a'] b j; cbn [padd]; rewrite ?co_padd; cbn [pmul]; rewrite ?co_nil; try lia.
  - rewrite !co_padd, !co_map, !co_cons, (before_same _ _ (IH a' b)). destruct j; cbn [before]; [lia|].
    rewrite co_padd. lia.
Qed.

Lemma pmul_right a : forall b b', same (pmul a (padd b b')) (padd (pmul a b) (pmul a b')).
Proof.
  induction a as [|x a IH]; intros b b' j; [reflexivity|].
  rewrite co_padd, !co_pmul, co_padd, (before_same _ _ (IH b b')). destruct j; cbn [before]; [lia|].
  rewrite co_padd. lia.
Qed.

Lemma pmul_shift_left n a b : same (pmul (shift n a) b) (shift n (pmul a b)).
Proof.
  induction n as [|n IH]; intro j; cbn [shift]; [reflexivity|]. rewrite co_pmul, co_cons, (before_same _ _ IH). lia.
Qed.

Lemma before_shift n l j : before (shift n l) j = co (shift (S n) l) j.
Proof. destruct j; reflexivity. Qed.

Lemma shift_padd n a b : same (shift n (padd a b)) (padd (shift n a) (shift n b)).
Proof.
  induction n as [|n IH]; intro j; cbn [shift]; [reflexivity|]. rewrite co_padd, !co_cons. destruct j; cbn [before]; [lia|].
  rewrite IH, co_padd. reflexivity.
Qed.

Lemma co_shift_map n x b : forall j, co (shift n (map (Z.mul x) b)) j = (x * co (shift n b) j)%Z.
Proof. induction n as [|n IH]; intro j; cbn [shift]; [apply co_map|]. destruct j; cbn [nth]; [lia|apply IH]. Qed.

Lemma shift_next n l : shift n (0%Z :: l) = 0%Z :: shift n l.
Proof. induction n as [|n IH]; cbn [shift]; [reflexivity|]. rewrite IH. reflexivity. Qed.

Lemma pmul_shift_right n a : forall b, same (pmul a (shift n b)) (shift n (pmul a b)).
Proof.
  induction a as [|x a IH]; intros b j.
  - cbn [pmul]. rewrite co_nil. revert j. induction n as [|n IHn]; intros [|j]; cbn; auto.
  - rewrite co_pmul. cbn [pmul]. rewrite shift_padd, co_padd, co_shift_map, shift_next, co_cons.
    rewrite (before_same _ _ (IH b)). reflexivity.
Qed.

Lemma parts n : forall l, same l (padd (firstn n l) (shift n (skipn n l))).
Proof.
  induction n as [|n IH]; intros l j; cbn [firstn skipn shift]; [rewrite co_padd, co_nil; lia|].
  destruct l as [|x l]; cbn [padd]; rewrite ?co_cons.
  - rewrite co_nil. destruct j; cbn [before]; [reflexivity|]. clear. revert j.
    induction n as [|n IHn]; intros [|j]; cbn; auto.
  - destruct j; cbn [nth]; [lia|apply IH].
Qed.

Lemma co_shift_same n a b j : same a b -> co (shift n a) j = co (shift n b) j.
Proof. intro E. apply shift_same, E. Qed.

Lemma pmul_parts_right n a b : same (pmul a b) (padd (pmul a (firstn n b)) (shift n (pmul a (skipn n b)))).
Proof.
  intro j. rewrite (pmul_same a _ _ (parts n b)), pmul_right, !co_padd, pmul_shift_right. reflexivity.
Qed.

Lemma pmul_cons_nil a : same (pmul a []) [].
Proof.
  induction a as [|x a IH]; intro j; [reflexivity|]. rewrite co_pmul, (before_same _ _ IH), co_nil.
  destruct j; cbn [before]; rewrite ?co_nil; lia.
Qed.

Lemma pmul_cons_right a : forall y b, same (pmul a (y :: b)) (padd (map (Z.mul y) a) (0%Z :: pmul a b)).
Proof.
  induction a as [|x a IH]; intros y b j; cbn [map].
  - cbn [pmul padd]. destruct j as [|[|j]]; reflexivity.
  - rewrite co_pmul, (before_same _ _ (IH y b)), co_padd. destruct j; cbn [before nth]; [lia|].
    rewrite co_padd. rewrite co_pmul. rewrite co_cons. lia.
Qed.

Lemma pmul_comm a : forall b, same (pmul a b) (pmul b a).
Proof.
  induction a as [|x a IH]; intros b j; [symmetry; apply pmul_cons_nil|].
  rewrite co_pmul, pmul_cons_right, co_padd, co_map, co_cons, (before_same _ _ (IH b)). reflexivity.
Qed.

Lemma pmul_same_left a a' b : same a a' -> same (pmul a b) (pmul a' b).
Proof. intros E j. rewrite pmul_comm, (pmul_same b _ _ E), pmul_comm. reflexivity. Qed.

Lemma pmul_parts_left n a b : same (pmul a b) (padd (pmul (firstn n a) b) (shift n (pmul (skipn n a) b))).
Proof.
  intro j. rewrite (pmul_same_left _ _ b (parts n a)), pmul_left, !co_padd, pmul_shift_left. reflexivity.
Qed.

(** [fuel] bounds the depth; lists of fewer than [small] masses are multiplied one by one. *)
Fixpoint karatsuba (small : nat) (fuel : nat) (a b : list Z) : list Z :=
  match fuel with
  | O => pmul a b
  | S fuel =>
    let na := length a in
    let nb := length b in
    if Nat.leb na small || Nat.leb nb small then pmul a b
    else
      let n := Nat.div2 (S (Nat.max na nb)) in
      if Nat.leb na n then padd (karatsuba small fuel a (firstn n b)) (shift n (karatsuba small fuel a (skipn n b)))
      else if Nat.leb nb n then padd (karatsuba small fuel (firstn n a) b) (shift n (karatsuba small fuel (skipn n a) b))
      else
        let (a0, a1) := (firstn n a, skipn n a) in
        let (b0, b1) := (firstn n b, skipn n b) in
        let low := karatsuba small fuel a0 b0 in
        let high := karatsuba small fuel a1 b1 in
        let all := karatsuba small fuel (padd a0 a1) (padd b0 b1) in
        padd low (shift n (padd (minus all (padd low high)) (shift n high)))
  end.

Lemma karatsuba_same small fuel : forall a b, same (karatsuba small fuel a b) (pmul a b).
Proof.
  induction fuel as [|fuel IH]; intros a b; cbn [karatsuba]; [intro; reflexivity|].
  destruct (_ || _); [intro; reflexivity|]. set (n := Nat.div2 _). clearbody n.
  destruct (Nat.leb (length a) n); [|destruct (Nat.leb (length b) n)]; intro j.
  - rewrite (pmul_parts_right n a b), !co_padd, IH, (co_shift_same n _ _ j (IH a (skipn n b))). reflexivity.
  - rewrite (pmul_parts_left n a b), !co_padd, IH, (co_shift_same n _ _ j (IH (skipn n a) b)). reflexivity.
  - set (a0 := firstn n a). set (a1 := skipn n a). set (b0 := firstn n b). set (b1 := skipn n b).
    rewrite (pmul_parts_left n a b). fold a0 a1.
    assert (L : same (pmul a0 b) (padd (pmul a0 b0) (shift n (pmul a0 b1)))) by apply pmul_parts_right.
    assert (H : same (pmul a1 b) (padd (pmul a1 b0) (shift n (pmul a1 b1)))) by apply pmul_parts_right.
    assert (M : same (padd (minus (karatsuba small fuel (padd a0 a1) (padd b0 b1))
        (padd (karatsuba small fuel a0 b0) (karatsuba small fuel a1 b1))) (shift n (karatsuba small fuel a1 b1)))
      (padd (padd (pmul a0 b1) (pmul a1 b0)) (shift n (pmul a1 b1)))).
    { intro i. rewrite !co_padd, co_minus, !co_padd, !IH, (co_shift_same n _ _ i (IH a1 b1)).
      rewrite pmul_left, co_padd, !pmul_right, !co_padd. lia. }
    rewrite co_padd, IH, (co_shift_same n _ _ j M), (co_padd (pmul a0 b)), L, (co_shift_same n _ _ j H).
    repeat (rewrite shift_padd || rewrite co_padd). lia.
Qed.

Fixpoint fit (n : nat) (l : list Z) : list Z :=
  match n, l with
  | O, _ => []
  | S n, [] => 0%Z :: fit n []
  | S n, x :: l => x :: fit n l
  end.

Lemma fit_length n : forall l, length (fit n l) = n.
Proof. induction n as [|n IH]; intros [|x l]; cbn; auto. Qed.

Lemma fit_co n : forall l j, (j < n)%nat -> co (fit n l) j = co l j.
Proof.
  induction n as [|n IH]; intros [|x l] [|j] L; cbn; try lia; [|apply IH; lia]. rewrite IH by lia. apply co_nil.
Qed.

Lemma padd_length a : forall b, length (padd a b) = Nat.max (length a) (length b).
Proof. induction a as [|x a IH]; intros [|y b]; cbn [padd length]; try lia. rewrite IH. lia. Qed.

Fixpoint product_length (a : nat) (b : nat) : nat := match a with O => O | S a => Nat.max b (S (product_length a b)) end.

Lemma pmul_length a b : length (pmul a b) = product_length (length a) (length b).
Proof.
  induction a as [|x a IH]; cbn [pmul length product_length]; [reflexivity|].
  rewrite padd_length, map_length. cbn [length]. rewrite IH. reflexivity.
Qed.

Lemma product_length_eq a b : product_length a (S b) = match a with O => O | S a => (a + S b)%nat end.
Proof. induction a as [|a IH]; [reflexivity|]. cbn [product_length]. rewrite IH. destruct a; lia. Qed.

Definition fast (a b : list Z) : list Z :=
  match a, b with
  | [], _ => []
  | _, [] => pmul a b
  | _, _ => fit (pred (length a) + length b) (karatsuba 12 20 a b)
  end.

Theorem fast_ok a b : whole a -> whole b -> fast a b = pmul a b.
Proof.
  intros _ _. unfold fast. destruct a as [|x a]; [reflexivity|]. destruct b as [|y b]; [reflexivity|].
  assert (L : length (pmul (x :: a) (y :: b)) = (pred (length (x :: a)) + length (y :: b))%nat).
  { rewrite pmul_length. cbn [length]. rewrite product_length_eq. cbn [pred]. lia. }
  rewrite <- L. apply nth_ext with 0%Z 0%Z; [apply fit_length|]. intros j J. rewrite fit_length in J.
  rewrite fit_co by exact J. apply karatsuba_same.
Qed.
