(** Products of polynomials as products of large numbers (Kronecker's substitution): masses of 63 bits stand 126 bits
    apart in a tree of machine words, which Bignums multiplies by Karatsuba's rule. *)

From Coq Require Import Cyclic63 DoubleType CyclicAxioms.
From Bignums Require Import DoubleCyclic.
From Kernel Require Export Measures.

Notation co l j := (nth j l 0%Z).

(** ** The coefficients of a product *)

Fixpoint conv (a b : nat -> Z) (j : nat) : Z :=
  match j with O => a 0%nat * b 0%nat | S i => a 0%nat * b j + conv (fun k => a (S k)) b i end%Z.

Lemma co_nil j : co (@nil Z) j = 0%Z.
Proof. destruct j; reflexivity. Qed.

Lemma co_padd a : forall b j, co (padd a b) j = (co a j + co b j)%Z.
Proof.
  induction a as [|x a IH]; intros [|y b] j; cbn [padd]; rewrite ?co_nil; try lia.
  destruct j; cbn [nth]; [reflexivity|apply IH].
Qed.

Lemma co_map x b : forall j, co (map (Z.mul x) b) j = (x * co b j)%Z.
Proof. induction b as [|y b IH]; intro j; cbn [map]; rewrite ?co_nil; [lia|]. destruct j; cbn [nth]; auto. Qed.

Lemma conv_zero b : forall j a, (forall k, a k = 0%Z) -> conv a b j = 0%Z.
Proof. induction j as [|j IH]; intros a A; cbn [conv]; rewrite A; [reflexivity|]. rewrite IH by auto. lia. Qed.

Lemma conv_eq b b' : forall j a a', (forall k, a k = a' k) -> (forall k, b k = b' k) -> conv a b j = conv a' b' j.
Proof.
  induction j as [|j IH]; intros a a' A B; cbn [conv]; rewrite A, B; [reflexivity|].
  rewrite (IH _ (fun k => a' (S k))); auto.
Qed.

Lemma co_pmul a b : forall j, co (pmul a b) j = conv (fun k => co a k) (fun k => co b k) j.
Proof.
  induction a as [|x a IH]; intro j; cbn [pmul]; [rewrite co_nil, conv_zero; auto using co_nil|].
  rewrite co_padd, co_map. destruct j as [|j]; cbn [conv nth]; [lia|]. rewrite IH. reflexivity.
Qed.

Lemma padd_length a : forall b, length (padd a b) = Nat.max (length a) (length b).
Proof. induction a as [|x a IH]; intros [|y b]; cbn [padd length]; try lia. rewrite IH. lia. Qed.

Lemma pmul_length x a y b : length (pmul (x :: a) (y :: b)) = (length a + S (length b))%nat.
Proof.
  revert x. induction a as [|x' a IH]; intro x.
  - cbn [pmul]. rewrite padd_length, map_length. cbn. lia.
  - change (pmul (x :: x' :: a) (y :: b)) with (padd (map (Z.mul x) (y :: b)) (0%Z :: pmul (x' :: a) (y :: b))).
    rewrite padd_length, map_length. cbn [length]. rewrite IH. lia.
Qed.

(** ** Polynomials at B, and their digits *)

Definition B : Z := (2 ^ 126)%Z.

Fixpoint eval (l : list Z) : Z := match l with [] => 0 | m :: l => m + B * eval l end%Z.

Lemma eval_padd a : forall b, eval (padd a b) = (eval a + eval b)%Z.
Proof. induction a as [|x a IH]; intros [|y b]; cbn [padd eval]; try lia. rewrite IH. lia. Qed.

Lemma eval_map x b : eval (map (Z.mul x) b) = (x * eval b)%Z.
Proof. induction b as [|y b IH]; cbn [map eval]; [lia|]. rewrite IH. lia. Qed.

Lemma eval_pmul a b : eval (pmul a b) = (eval a * eval b)%Z.
Proof.
  induction a as [|x a IH]; cbn [pmul eval]; [reflexivity|]. rewrite eval_padd, eval_map. cbn [eval]. rewrite IH. lia.
Qed.

Definition digits : list Z -> Prop := Forall (fun m => 0 <= m < B)%Z.

Lemma eval_same a : forall b, digits a -> digits b -> eval a = eval b -> forall j, co a j = co b j.
Proof.
  assert (zero : forall b, digits b -> 0%Z = eval b -> forall j, co b j = 0%Z).
  { induction 1 as [|y b [Y Y'] D IH]; intros E j; [apply co_nil|]. cbn [eval] in E.
    assert (N : (0 <= eval b)%Z) by (clear - D; induction D; cbn [eval]; [lia|]; unfold B in *; nia).
    assert (eval b = 0 /\ y = 0)%Z as [E' ->] by (unfold B in *; nia). destruct j; cbn [nth]; [lia|]. apply IH. lia. }
  induction a as [|x a IH]; intros b A D E j; [rewrite (zero b D E); apply co_nil|].
  destruct b as [|y b]; [rewrite (zero _ A (eq_sym E)), co_nil; reflexivity|].
  inversion A as [|? ? X A']; inversion D as [|? ? Y D']; subst. cbn [eval] in E.
  assert (x = y /\ eval a = eval b) as [-> E'] by (unfold B in *; nia).
  destruct j; cbn [nth]; [reflexivity|]. apply IH; assumption.
Qed.

Lemma total_padd a : forall b, total (padd a b) = (total a + total b)%Z.
Proof. induction a as [|x a IH]; intros [|y b]; cbn [padd total]; try lia. rewrite IH. lia. Qed.

Lemma total_pmul a b : total (pmul a b) = (total a * total b)%Z.
Proof.
  induction a as [|x a IH]; cbn [pmul total]; [reflexivity|]. rewrite total_padd. cbn [total]. rewrite IH.
  assert (E : total (map (Z.mul x) b) = (x * total b)%Z) by (clear; induction b; cbn [map total]; lia). lia.
Qed.

Lemma small_digits l : whole l -> (total l < B)%Z -> digits l.
Proof.
  induction 1 as [|m l M W IH]; cbn [total]; intro T; constructor.
  - apply total_nonneg in W. lia.
  - apply IH. lia.
Qed.

(** ** Trees of words *)

Fixpoint ops (n : nat) : ZnZ.Ops (word int n) :=
  match n with O => int_ops | S n => @mk_zn2z_ops_karatsuba (word int n) (ops n) end.

#[local] Instance specs n : ZnZ.Specs (ops n).
Proof. induction n as [|n IH]; [exact int_specs|exact (@mk_zn2z_specs_karatsuba _ (ops n) IH)]. Qed.

Notation number n := (@ZnZ.to_Z _ (ops n)).
Notation width n := (base (@ZnZ.digits _ (ops n))).

Lemma width_S n : width (S n) = (width n * width n)%Z.
Proof.
  change (@ZnZ.digits _ (ops (S n))) with (xO (@ZnZ.digits _ (ops n))). unfold base.
  rewrite (Pos2Z.inj_xO (@ZnZ.digits _ (ops n))), <- Z.pow_add_r by lia. f_equal. lia.
Qed.

Lemma width_1 : width 1 = B.
Proof. reflexivity. Qed.

Lemma number_WW n (hi lo : word int n) : number (S n) (WW hi lo) = (number n hi * width n + number n lo)%Z.
Proof. reflexivity. Qed.

(** The first 2^n masses in a tree, and the masses that are left. *)
Fixpoint pack (n : nat) (l : list Z) : word int (S n) * list Z :=
  match n with
  | O => match l with [] => (W0, []) | m :: l => (WW 0%uint63 (of_Z m), l) end
  | S n =>
    match l with
    | [] => (W0, [])
    | _ => let (lo, l) := pack n l in let (hi, l) := pack n l in (WW hi lo, l)
    end
  end.

Definition fits (l : list Z) : Prop := Forall (fun m => 0 <= m < 2 ^ 63)%Z l.

Lemma pack_ok n : forall l, fits l ->
  fits (snd (pack n l)) /\ (number (S n) (fst (pack n l)) + width (S n) * eval (snd (pack n l)) = eval l)%Z.
Proof.
  induction n as [|n IH]; intros l F.
  - destruct l as [|m l]; cbn [pack fst snd]; [split; [exact F|reflexivity]|]. inversion F as [|? ? M F']; subst.
    split; [exact F'|]. rewrite number_WW, width_1. cbn [eval].
    change (number 0) with to_Z. change (to_Z 0) with 0%Z. rewrite of_Z_spec, Z.mod_small by exact M. lia.
  - cbn [pack]. destruct l as [|m l]; [split; [exact F|]; cbn [fst snd eval]; rewrite Z.mul_0_r; reflexivity|].
    set (ml := m :: l) in *. clearbody ml.
    destruct (IH _ F) as [F1 E1]. destruct (pack n ml) as [lo l1]. cbn [fst snd] in *.
    destruct (IH _ F1) as [F2 E2]. destruct (pack n l1) as [hi l2]. cbn [fst snd] in *.
    split; [exact F2|]. rewrite number_WW, (width_S (S n)). nia.
Qed.

Fixpoint zeros (n : nat) (l : list Z) : list Z := match n with O => 0%Z :: l | S n => zeros n (zeros n l) end.

Fixpoint unpack (n : nat) : word int (S n) -> list Z -> list Z :=
  match n with
  | O => fun x l => number 1 x :: l
  | S n => fun x l => match x with W0 => zeros (S n) l | WW hi lo => unpack n lo (unpack n hi l) end
  end.

Lemma zeros_ok n : forall l, digits l -> digits (zeros n l) /\ eval (zeros n l) = (width (S n) * eval l)%Z.
Proof.
  induction n as [|n IH]; intros l D; cbn [zeros].
  - split; [constructor; [unfold B; lia|exact D]|]. rewrite width_1. cbn [eval]. lia.
  - destruct (IH _ D) as [D1 E1]. destruct (IH _ D1) as [D2 E2]. split; [exact D2|].
    rewrite E2, E1, (width_S (S n)). lia.
Qed.

Lemma unpack_ok n : forall x l, digits l ->
  digits (unpack n x l) /\ eval (unpack n x l) = (number (S n) x + width (S n) * eval l)%Z.
Proof.
  induction n as [|n IH]; intros x l D.
  - cbn [unpack]. split; [|reflexivity]. constructor; [|exact D]. exact (@ZnZ.spec_to_Z _ _ (specs 1) x).
  - destruct x as [|hi lo].
    + destruct (zeros_ok (S n) l D) as [D1 E1]. split; [exact D1|]. exact E1.
    + cbn [unpack]. destruct (IH hi l D) as [D1 E1]. destruct (IH lo _ D1) as [D2 E2]. split; [exact D2|].
      rewrite E2, E1, number_WW, (width_S (S n)). lia.
Qed.

Definition multiplied (n : nat) (x y : word int (S n)) : list Z :=
  unpack (S n) (@ZnZ.mul_c _ (ops (S n)) x y) [].

Lemma multiplied_ok n x y : digits (multiplied n x y) /\ eval (multiplied n x y) = (number (S n) x * number (S n) y)%Z.
Proof.
  destruct (unpack_ok (S n) (@ZnZ.mul_c _ (ops (S n)) x y) [] (Forall_nil _)) as [D E]. split; [exact D|].
  unfold multiplied. rewrite E. rewrite <- (@ZnZ.spec_mul_c _ _ (specs (S n)) x y). cbn [eval].
  rewrite Z.mul_0_r, Z.add_0_r. reflexivity.
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

Definition fitsb (l : list Z) : bool := forallb (fun m => (0 <=? m) && (m <? 2 ^ 63))%Z l.

(** The product as large numbers, if all is small enough and it is worth it, else as it is defined. *)
Definition even (a b : list Z) : list Z :=
  let n := Nat.log2_up (Nat.max (length a) (length b)) in
  let worth := Nat.ltb 4 (length a) && Nat.ltb 4 (length b) in
  if worth && fitsb a && fitsb b && (total a * total b <? B)%Z then
    match pack n a, pack n b with
    | (x, []), (y, []) => fit (Nat.pred (length a) + length b) (multiplied n x y)
    | _, _ => pmul a b
    end
  else pmul a b.

Lemma fitsb_ok l : fitsb l = true -> fits l.
Proof. unfold fitsb. rewrite forallb_forall. intro H. apply Forall_forall. intros m M. specialize (H m M). lia. Qed.

Lemma even_ok a b : whole a -> whole b -> even a b = pmul a b.
Proof.
  intros A A'. unfold even. set (n := Nat.log2_up _). clearbody n.
  destruct (_ && _) eqn:E; [|reflexivity]. rewrite !andb_true_iff in E. destruct E as [[[[LA LB] FA] FB] T].
  apply Z.ltb_lt in T. pose proof (pack_ok n a (fitsb_ok _ FA)) as [_ EA].
  pose proof (pack_ok n b (fitsb_ok _ FB)) as [_ EB].
  destruct (pack n a) as [x [|? ?]]; [|reflexivity]. destruct (pack n b) as [y [|? ?]]; [|reflexivity].
  cbn [fst snd eval] in *. destruct a as [|u a]; [discriminate|]. destruct b as [|w b]; [discriminate|].
  destruct (multiplied_ok n x y) as [D E]. apply nth_ext with 0%Z 0%Z.
  - rewrite fit_length, pmul_length. cbn [length]. lia.
  - intros j J. rewrite fit_length in J. rewrite fit_co by exact J. apply eval_same; [exact D| |].
    + apply small_digits; [apply pmul_whole; assumption|]. rewrite total_pmul. exact T.
    + rewrite E, eval_pmul. f_equal; lia.
Qed.

(** ** A long list in parts of the short one's length *)

Lemma conv_add b c : forall j a, conv a (fun k => b k + c k)%Z j = (conv a b j + conv a c j)%Z.
Proof. induction j as [|j IH]; intro a; cbn [conv]; [|rewrite IH]; ring. Qed.

Lemma co_zeros n l j : co (repeat 0%Z n ++ l) j = if (j <? n)%nat then 0%Z else co l (j - n).
Proof.
  destruct (Nat.ltb_spec j n); [rewrite app_nth1, nth_repeat by (rewrite ?repeat_length; assumption); reflexivity|].
  rewrite app_nth2; rewrite repeat_length; [reflexivity|assumption].
Qed.

Lemma conv_zeros l n : forall j a, conv a (fun k => co (repeat 0%Z n ++ l) k) j =
  if (j <? n)%nat then 0%Z else conv a (fun k => co l k) (j - n).
Proof.
  induction j as [|j IH]; intro a; cbn [conv]; rewrite co_zeros.
  - destruct n; cbn; [reflexivity|lia].
  - rewrite IH. destruct (Nat.ltb_spec (S j) n), (Nat.ltb_spec j n); try lia.
    + replace (S j - n)%nat with 0%nat by lia. cbn [conv]. lia.
    + replace (S j - n)%nat with (S (j - n)) by lia. cbn [conv]. lia.
Qed.

Lemma pmul_app a b c : a <> [] -> b <> [] -> c <> [] ->
  pmul a (b ++ c) = padd (pmul a b) (repeat 0%Z (length b) ++ pmul a c).
Proof.
  destruct a as [|x a]; [contradiction|]. destruct b as [|y b]; [contradiction|]. destruct c as [|z c]; [contradiction|].
  intros _ _ _. apply nth_ext with 0%Z 0%Z.
  - change ((y :: b) ++ z :: c) with (y :: (b ++ z :: c)).
    rewrite padd_length, app_length, repeat_length, !pmul_length, app_length. cbn [length]. lia.
  - intros j _. set (a' := x :: a) in *. set (b' := y :: b) in *. set (c' := z :: c) in *.
    rewrite co_padd, co_zeros, !co_pmul. rewrite <- (conv_zeros c' (length b') j), <- conv_add.
    apply conv_eq; [auto|]. intro k. rewrite co_zeros. destruct (Nat.ltb_spec k (length b')) as [L|L].
    + rewrite app_nth1 by exact L. lia.
    + rewrite app_nth2 by exact L. rewrite (nth_overflow b') by exact L. lia.
Qed.

Fixpoint in_parts (parts size : nat) (a b : list Z) : list Z :=
  match parts with
  | O => even a b
  | S parts =>
    match a, firstn size b, skipn size b with
    | _ :: _, (_ :: _) as now, (_ :: _) as later =>
      padd (even a now) (repeat 0%Z (length now) ++ in_parts parts size a later)
    | _, _, _ => even a b
    end
  end.

Definition fast (a b : list Z) : list Z :=
  let size := (2 ^ Nat.log2_up (length a))%nat in in_parts (length b / size) size a b.

Theorem fast_ok a b : whole a -> whole b -> fast a b = pmul a b.
Proof.
  unfold fast. set (size := (2 ^ _)%nat). clearbody size. set (parts := (length b / size)%nat). clearbody parts.
  intro A. revert b. induction parts as [|parts IH]; intros b W; cbn [in_parts]; [apply even_ok; assumption|].
  assert (D : whole (firstn size b) /\ whole (skipn size b))
    by (rewrite <- (firstn_skipn size b) in W; apply Forall_app in W; exact W).
  pose proof (firstn_skipn size b) as E. destruct a as [|x a]; [apply even_ok; assumption|].
  destruct (firstn size b) as [|y now]; [apply even_ok; assumption|].
  destruct (skipn size b) as [|z later]; [apply even_ok; assumption|]. destruct D as [N L].
  rewrite even_ok, IH by assumption. rewrite <- E. symmetry. apply pmul_app; discriminate.
Qed.
