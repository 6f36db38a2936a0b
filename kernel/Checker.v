(** What a certificate's numbers are computed with, and why they bound every adaptive composition. *)

From Kernel Require Export Measures.

Section Checker.

Variable t o : positive.  (* b = (t + 1) / t; masses are over o *)

Notation r := (r t).
Notation v := (v t).
Notation value := (value t).
Notation O := (Zpos o) (only parsing).

Definition s : Q := 1 # o.

Lemma s_pos : 0 < s.
Proof. reflexivity. Qed.

Lemma s_times : s * !O == 1.
Proof. unfold s, Qeq, Qmult, inject_Z; cbn. lia. Qed.

Lemma nonneg_Q m : (0 <= m)%Z -> 0 <= !m.
Proof. intro. change 0 with (!0). rewrite <- Zle_Qle. assumption. Qed.

(** ** From atoms to a measure: the nodes are known from above, over F *)

Definition fine : positive := 2 ^ 32.
Notation F := (Zpos fine) (only parsing).

Fixpoint at_node (c : Q) (i : nat) : Q := match i with 0%nat => c | S i => at_node (c * r) i end.

Fixpoint add_at (i : nat) (m : Z) (ms : list Z) : list Z :=
  match i, ms with
  | 0%nat, [] => [m]
  | 0%nat, k :: l => (m + k)%Z :: l
  | S i, [] => 0%Z :: add_at i m []
  | S i, k :: l => k :: add_at i m l
  end.

Lemma add_at_whole i : forall m ms, (0 <= m)%Z -> whole ms -> whole (add_at i m ms).
Proof.
  induction i as [|i IH]; intros m [|k l] M W; cbn [add_at].
  - constructor; [lia|constructor].
  - inversion W; subst. constructor; [lia|assumption].
  - constructor; [lia|]. apply IH; assumption.
  - inversion W; subst. constructor; [assumption|]. apply IH; assumption.
Qed.

Lemma v_add_at i : forall c m ms x y, v c (add_at i m ms) x y == !m * pos (x - y * at_node c i) + v c ms x y.
Proof.
  induction i as [|i IH]; intros c m [|k l] x y; cbn [add_at at_node Measures.v]; try reflexivity.
  - rewrite inject_Z_plus. ring.
  - rewrite IH. cbn [Measures.v]. change (!0) with 0. ring.
  - rewrite IH. ring.
Qed.

Fixpoint tops (c : Q) (ups : list Z) : Prop :=
  match ups with
  | [] => True
  | u :: l => c * !F <= !u /\ tops (c * r) l
  end.

Definition steady (c : Q) (state : nat * Z * list Z) : Prop :=
  let '(i, prev, ups) := state in
  tops (at_node c i) ups /\ match i with 0%nat => True | S j => at_node c j * !F <= !prev end.

Fixpoint advance (p qo : Z) (i : nat) (prev : Z) (ups : list Z) : nat * Z * list Z :=
  match ups with
  | [] => (i, prev, [])
  | u :: l => if (u * p <=? qo)%Z then (i, prev, ups) else advance p qo (S i) u l
  end.

Lemma at_node_S i : forall c, at_node c (S i) == at_node c i * r.
Proof. induction i as [|i IH]; intro c; cbn [at_node] in *; [reflexivity|]. rewrite <- IH. reflexivity. Qed.

Lemma tops_eq ups : forall c c', c == c' -> tops c ups -> tops c' ups.
Proof.
  induction ups as [|u l IH]; intros c c' E; cbn [tops]; [auto|]. intros [A B]. split; [rewrite <- E; exact A|].
  apply (IH (c * r)); [rewrite E; reflexivity|exact B].
Qed.

Lemma advance_steady p qo c ups : forall i prev, steady c (i, prev, ups) -> steady c (advance p qo i prev ups).
Proof.
  induction ups as [|u l IH]; intros i prev S; cbn [advance]; [exact S|].
  destruct (u * p <=? qo)%Z; [exact S|]. apply IH. destruct S as [[A B] _]. split; [|exact A].
  apply (tops_eq _ (at_node c i * r)); [symmetry; apply at_node_S|exact B].
Qed.

Definition single (p q : Z) (i : nat) (u : Z) (acc : list Z * Z) : list Z * Z :=
  let '(ms, gone) := acc in if (u * p <=? F * q)%Z then (add_at i p ms, gone) else (ms, (gone + p)%Z).

(** An atom is put on two neighbouring nodes that keep its p, and at most its q; else higher. *)
Definition place (p q : Z) (state : nat * Z * list Z) (acc : list Z * Z) : list Z * Z :=
  let '(i, prev, ups) := state in
  let '(ms, gone) := acc in
  match ups with
  | [] => (ms, (gone + p)%Z)
  | u :: _ =>
    match i with
    | 0%nat => single p q i u acc
    | S j =>
      let hi := Z.max 0 (Z.min p (over (prev * p - F * q) (Z.max 1 (prev - u)))) in
      let lo := (p - hi)%Z in
      if (prev * lo + u * hi <=? F * q)%Z then (add_at j lo (add_at i hi ms), gone) else single p q i u acc
    end
  end.

Fixpoint spread (atoms : list (Z * Z)) (state : nat * Z * list Z) (acc : list Z * Z) : list Z * Z :=
  match atoms with
  | [] => acc
  | (p, q) :: l =>
    let '(i, prev, ups) := state in
    let here := advance p (F * q) i prev ups in
    (* In a tail the rounded q is small, or 0, and its ratio says nothing about those that follow. *)
    spread l (if (q <? 65536)%Z then state else here) (place p q here acc)
  end.

Definition atom_law (atoms : list (Z * Z)) : law := map (fun a => (s * !(fst a), s * !(snd a))) atoms.

Definition wholes (atoms : list (Z * Z)) : Prop := Forall (fun a => 0 <= fst a /\ 0 <= snd a)%Z atoms.

Definition good (acc : list Z * Z) : Prop := whole (fst acc) /\ (0 <= snd acc)%Z.

Definition val (c : Q) (acc : list Z * Z) (x y : Q) : Q := !(snd acc) * x + v c (fst acc) x y.

Lemma le_Q a b : (a <= b)%Z -> !a <= !b.
Proof. intro. rewrite <- Zle_Qle. assumption. Qed.

Lemma cancel_F a b : a * !F <= b * !F -> a <= b.
Proof. intro H. apply Qmult_le_r in H; [assumption|reflexivity]. Qed.

Lemma F_pos : 0 < !F.
Proof. reflexivity. Qed.

Lemma single_ok p q i u ms gone c x y : (0 <= p)%Z -> (0 <= q)%Z -> good (ms, gone) -> at_node c i * !F <= !u ->
  0 <= x -> 0 <= y ->
  good (single p q i u (ms, gone)) /\
    pos (x * !p - y * !q) + val c (ms, gone) x y <= val c (single p q i u (ms, gone)) x y.
Proof.
  intros P P' [W G] U X Y. unfold single. cbn [fst snd] in *. destruct (u * p <=? F * q)%Z eqn:E.
  - apply Z.leb_le, le_Q in E. rewrite !inject_Z_mult in E. split.
    + split; cbn [fst snd]; [apply add_at_whole; assumption|assumption].
    + unfold val; cbn [fst snd]. rewrite v_add_at.
      apply nonneg_Q in P. apply nonneg_Q in P'.
      assert (A : at_node c i * !p <= !q). { apply cancel_F. pose proof (mul_le_l _ _ _ P U). lra. }
      assert (B : pos (x * !p - y * !q) <= !p * pos (x - y * at_node c i)).
      { rewrite <- pos_scale by assumption. apply pos_mono. pose proof (mul_le_l _ _ _ Y A). lra. }
      lra.
  - split; [split; cbn [fst snd]; [assumption|lia]|]. unfold val; cbn [fst snd]. rewrite inject_Z_plus.
    apply nonneg_Q in P. apply nonneg_Q in P'. assert (0 <= x * !p) by nra. assert (0 <= y * !q) by nra.
    positive; lra.
Qed.

Lemma place_ok p q state c ms gone x y : (0 <= p)%Z -> (0 <= q)%Z -> good (ms, gone) -> steady c state ->
  0 <= x -> 0 <= y ->
  good (place p q state (ms, gone)) /\
    pos (x * !p - y * !q) + val c (ms, gone) x y <= val c (place p q state (ms, gone)) x y.
Proof.
  intros P P' G S X Y. destruct state as [[i prev] [|u ups]]; unfold place.
  - destruct G as [W G]. cbn [fst snd] in *. split; [split; cbn [fst snd]; [assumption|lia]|].
    unfold val; cbn [fst snd]. rewrite inject_Z_plus.
    apply nonneg_Q in P. apply nonneg_Q in P'. assert (0 <= x * !p) by nra. assert (0 <= y * !q) by nra.
    positive; lra.
  - destruct S as [[U _] V]. destruct i as [|j]; [apply single_ok; assumption|].
    set (hi := Z.max 0 (Z.min p _)). assert (H : (0 <= hi <= p)%Z) by lia. clearbody hi.
    destruct (prev * (p - hi) + u * hi <=? F * q)%Z eqn:E; [|apply single_ok; assumption].
    apply Z.leb_le, le_Q in E. rewrite inject_Z_plus, !inject_Z_mult in E. destruct G as [W G]. cbn [fst snd] in *.
    split.
    + split; cbn [fst snd]; [|assumption]. apply add_at_whole; [lia|]. apply add_at_whole; [lia|assumption].
    + unfold val; cbn [fst snd]. rewrite !v_add_at. change (at_node c (S j)) with (at_node (c * r) j) in *.
      set (a := at_node c j) in *. set (b := at_node (c * r) j) in *. clearbody a b.
      assert (L : 0 <= !(p - hi)) by (apply nonneg_Q; lia). assert (K : 0 <= !hi) by (apply nonneg_Q; lia).
      assert (T : !p == !(p - hi) + !hi) by (rewrite <- inject_Z_plus; f_equiv; lia).
      assert (A : !(p - hi) * a + !hi * b <= !q).
      { apply cancel_F. pose proof (mul_le_l _ _ _ L V). pose proof (mul_le_l _ _ _ K U). lra. }
      assert (B : pos (x * !p - y * !q) <= pos (!(p - hi) * (x - y * a)) + pos (!hi * (x - y * b))).
      { eapply Qle_trans; [|apply pos_add]. apply pos_mono. rewrite T. pose proof (mul_le_l _ _ _ Y A). lra. }
      rewrite !pos_scale in B by assumption. lra.
Qed.

Lemma spread_ok atoms c x y : wholes atoms -> 0 <= x -> 0 <= y -> forall state acc, good acc -> steady c state ->
  good (spread atoms state acc) /\ h (atom_law atoms) x y + s * val c acc x y <= s * val c (spread atoms state acc) x y.
Proof.
  intros W X Y. induction W as [|[p q] l [P P'] W IH]; intros [[i prev] ups] [ms gone] G S; cbn [spread].
  - split; [exact G|]. cbn. lra.
  - cbn [fst snd] in P, P'. pose proof (advance_steady p (F * q) c ups i prev S) as S'.
    destruct (place_ok p q _ c ms gone x y P P' G S' X Y) as [G' A].
    assert (T : steady c (if (q <? 65536)%Z then (i, prev, ups) else advance p (F * q) i prev ups))
      by (destruct (q <? 65536)%Z; assumption).
    destruct (IH _ _ G' T) as [G'' B]. split; [exact G''|].
    cbn [atom_law map h fst snd]. fold (atom_law l).
    setoid_replace (x * (s * !p) - y * (s * !q)) with (s * (x * !p - y * !q)) by ring.
    pose proof s_pos. rewrite pos_scale by lra. pose proof (mul_le_l s _ _ ltac:(lra) A). lra.
Qed.

(** Upper bounds on the nodes, over F: first, first + 1, ... *)
Fixpoint nodes_from (u : Z) (n : nat) : list Z :=
  match n with 0%nat => [] | S n => u :: nodes_from (up t u) n end.

Definition start (k : Z) : Z :=
  if (0 <=? k)%Z then Nat.iter (Z.to_nat k) (up t) F
  else Nat.iter (Z.to_nat (- k)) (fun u => over (u * Zpos (t + 1)) (Zpos t)) F.

Lemma nodes_tops n : forall c u, c * !F <= !u -> tops c (nodes_from u n).
Proof.
  induction n as [|n IH]; intros c u H; cbn [nodes_from tops]; [exact I|]. split; [exact H|]. apply IH.
  pose proof (up_spec t u). pose proof (r_pos t). pose proof (Qmult_le_compat_r _ _ r H ltac:(lra)). lra.
Qed.

Lemma start_spec k : r ^ k * !F <= !(start k).
Proof.
  unfold start. destruct (0 <=? k)%Z eqn:E.
  - apply Z.leb_le in E. rewrite <- (Z2Nat.id k E) at 1. generalize (Z.to_nat k). clear E k. intro n.
    induction n as [|n IH]; [change (Nat.iter 0 (up t) F) with F; change (r ^ Z.of_nat 0) with 1; lra|].
    rewrite Nat2Z.inj_succ, <- Z.add_1_r, power_next. cbn [Nat.iter].
    pose proof (up_spec t (Nat.iter n (up t) F)). pose proof (r_pos t).
    pose proof (Qmult_le_compat_r _ _ r IH ltac:(lra)).
    change (Nat.iter (S n) (up t) F) with (up t (Nat.iter n (up t) F)). lra.
  - apply Z.leb_gt in E. replace k with (- Z.of_nat (Z.to_nat (- k)))%Z at 1 by lia.
    generalize (Z.to_nat (- k)). clear E k. intro n. set (f := fun u => over (u * Zpos (t + 1)) (Zpos t)).
    induction n as [|n IH]; [change (r ^ (- Z.of_nat 0)) with 1; change (Nat.iter 0 f F) with F; lra|].
    change (Nat.iter (S n) f F) with (f (Nat.iter n f F)). set (u := Nat.iter n f F) in *. clearbody u.
    assert (A : !u * !(Zpos (t + 1)) <= !(f u) * !(Zpos t)).
    { rewrite <- !inject_Z_mult. apply le_Q. unfold f. apply over_spec. lia. }
    rewrite <- (r_times t) in A.
    assert (B : !u <= !(f u) * r).
    { rewrite Qmult_assoc in A. apply Qmult_le_r in A; [exact A|reflexivity]. }
    pose proof (r_pos t). assert (C : r ^ (- Z.of_nat n) == r ^ (- Z.of_nat (S n)) * r).
    { rewrite <- power_next. f_equiv. lia. }
    rewrite C in IH. assert (D : r ^ (- Z.of_nat (S n)) * !F * r <= !(f u) * r) by lra.
    apply Qmult_le_r in D; assumption.
Qed.

(** What is in no atom cannot be here: an atom list is the whole pair. *)
Definition measured_at (ups : list Z) (k : Z) (n : nat) (atoms : list (Z * Z)) : measure :=
  let '(ms, gone) := spread atoms (0%nat, 0%Z, ups) (repeat 0%Z n, 0%Z) in Measure k ms gone.

Definition measured (k : Z) (n : nat) : list (Z * Z) -> measure := measured_at (nodes_from (start k) n) k n.

Lemma v_zeros n : forall c x y, v c (repeat 0%Z n) x y == 0.
Proof.
  induction n as [|n IH]; intros; cbn [repeat Measures.v]; [reflexivity|]. rewrite IH. change (!0) with 0. ring.
Qed.

Lemma zeros_whole n : whole (repeat 0%Z n).
Proof. induction n; constructor; [lia|assumption]. Qed.

Theorem measured_ok k n atoms : wholes atoms ->
  valid (measured k n atoms) /\ dominates (pair t s (measured k n atoms)) (atom_law atoms).
Proof.
  intro W. assert (S : steady (r ^ k) (0%nat, 0%Z, nodes_from (start k) n)).
  { split; [|exact I]. apply nodes_tops. apply start_spec. }
  assert (G : good (repeat 0%Z n, 0%Z)) by (split; cbn; [apply zeros_whole|lia]).
  assert (V : valid (measured k n atoms)).
  { destruct (spread_ok atoms (r ^ k) 0 0 W (Qle_refl 0) (Qle_refl 0) _ _ G S) as [A _].
    unfold measured, measured_at. destruct (spread _ _ _). exact A. }
  split; [exact V|]. intros x y X Y. rewrite h_pair; [|apply Qlt_le_weak, s_pos|exact V|exact X].
  destruct (spread_ok atoms (r ^ k) x y W X Y _ _ G S) as [_ A]. revert A. unfold measured, measured_at.
  destruct (spread _ _ _) as [ms gone]. unfold val, Measures.value. cbn [fst snd first masses lost].
  rewrite v_zeros. change (!0) with 0. intro A. lra.
Qed.

(** ** The supremum of several measures: rule 1 on the whole grid *)

Section Supremum.

Variables (i j : Z).  (* what is lost: of the supremum, and of the measure below it *)

Fixpoint scan (gs ms : list Z) : bool * Z * Z * Z :=
  match gs, ms with
  | [], [] => ((j <=? i)%Z, (i - j)%Z, 0%Z, 0%Z)
  | g :: gs, m :: ms =>
    let '(ok, d, a, b) := scan gs ms in
    let '(a', b') := (up t a, down t b) in
    (ok && (a' - b' <=? d)%Z, (d + g - m)%Z, (g + a')%Z, (m + b')%Z)
  | _, _ => (false, 0%Z, 0%Z, 0%Z)
  end.

Variable l : law.

Lemma cone a b x y x' y' : 0 <= a -> 0 <= b -> h l (a * x + b * x') (a * y + b * y') <= a * h l x y + b * h l x' y'.
Proof.
  intros A B. pose proof (h_convex l (a * x) (a * y) (b * x') (b * y')).
  rewrite !h_homogeneous in H by assumption. exact H.
Qed.

Lemma scan_ok gs : forall ms c d a b, whole gs -> whole ms -> 0 < c -> scan gs ms = (true, d, a, b) ->
  (forall x y, 0 <= x -> 0 <= y -> x <= y * c -> h l x y <= s * (!j * x + v c ms x y)) ->
  d = (i + total gs - j - total ms)%Z /\ a = moment_up t gs /\ b = moment_down t ms /\
  (forall x y, 0 <= x -> 0 <= y -> x <= y * c -> h l x y <= s * (!i * x + v c gs x y)).
Proof.
  induction gs as [|g gs IH]; intros [|m ms] c d a b Wg Wm C E H; cbn [scan] in E; try discriminate.
  - injection E as E <- <- <-. apply Z.leb_le, le_Q in E. repeat split; [cbn; lia|].
    intros x y X Y XY. specialize (H x y X Y XY). cbn [Measures.v] in *. pose proof s_pos.
    pose proof (Qmult_le_compat_r _ _ x E X). pose proof (mul_le_l s _ _ ltac:(lra) H1). lra.
  - destruct (scan gs ms) as [[[ok d'] a'] b'] eqn:E'. injection E as E <- <- <-.
    apply andb_true_iff in E as [-> E]. apply Z.leb_le in E.
    inversion Wg as [|? ? G Wg']; inversion Wm as [|? ? M Wm']; subst.
    pose proof (r_pos t) as R. pose proof (r_below_1 t) as R'. assert (C' : 0 < c * r) by nra.
    assert (C'' : c * r <= c) by nra.
    assert (Z0 : forall k ks x y, 0 <= y -> x <= y * c -> v c (k :: ks) x y == v (c * r) ks x y).
    { intros. apply v_zero; try assumption; lra. }
    assert (H' : forall x y, 0 <= x -> 0 <= y -> x <= y * (c * r) -> h l x y <= s * (!j * x + v (c * r) ms x y)).
    { intros x y X Y XY. assert (XY' : x <= y * c) by (pose proof (mul_le_l _ _ _ Y C''); lra).
      specialize (H x y X Y XY'). rewrite Z0 in H by assumption. exact H. }
    destruct (IH ms (c * r) d' a' b' Wg' Wm' C' E' H') as (-> & -> & -> & K). clear IH.
    cbn [total moment_up moment_down]. split; [lia|]. split; [reflexivity|]. split; [reflexivity|].
    intros x y X Y XY. rewrite Z0 by assumption.
    destruct (Qlt_le_dec (y * (c * r)) x) as [F|F]; [|apply K; assumption].
    (* at the node c *)
    assert (V : h l c 1 <= s * (!i * c + v (c * r) gs c 1)).
    { assert (c <= 1 * c) by lra. specialize (H c 1 ltac:(lra) ltac:(lra) H0).
      rewrite Z0 in H by lra. rewrite v_linear in * by lra.
      apply le_Q in E. unfold Z.sub in E. rewrite !inject_Z_plus, !inject_Z_opp in E.
      pose proof (up_spec t (moment_up t gs)). pose proof (down_spec t (moment_down t ms)).
      destruct (moment_bounds t gs) as [_ A1]. destruct (moment_bounds t ms) as [A2 _].
      pose proof (Qmult_le_compat_r _ _ r A1 ltac:(lra)). pose proof (Qmult_le_compat_r _ _ r A2 ltac:(lra)).
      assert (Q1 : !j + !(total ms) - r * moment t ms <= !i + !(total gs) - r * moment t gs) by lra.
      pose proof (mul_le_l c _ _ ltac:(lra) Q1). pose proof s_pos.
      assert (Q2 : !j * c + (!(total ms) * c - 1 * (c * r) * moment t ms) <=
                   !i * c + (!(total gs) * c - 1 * (c * r) * moment t gs)) by lra.
      pose proof (mul_le_l s _ _ ltac:(lra) Q2). lra. }
    assert (V' : h l (c * r) 1 <= s * (!i * (c * r) + v (c * r) gs (c * r) 1)) by (apply K; lra).
    set (w := c * (1 - r)). assert (W : 0 < w) by (unfold w; nra).
    set (al := (x - y * (c * r)) / w). set (be := (y * c - x) / w).
    assert (A : 0 <= al) by (apply Qle_shift_div_l; [exact W|lra]).
    assert (B : 0 <= be) by (apply Qle_shift_div_l; [exact W|lra]).
    assert (Ex : al * c + be * (c * r) == x) by (unfold al, be, w; field; split; lra).
    assert (Ey : al * 1 + be * 1 == y) by (unfold al, be, w; field; split; lra).
    pose proof (cone al be c 1 (c * r) 1 A B) as D. rewrite Ex, Ey in D.
    pose proof (mul_le_l _ _ _ A V) as D1. pose proof (mul_le_l _ _ _ B V') as D2.
    rewrite (v_linear t gs (c * r) x y) by lra.
    rewrite (v_linear t gs (c * r) c 1) in D1 by lra.
    rewrite (v_linear t gs (c * r) (c * r) 1) in D2 by lra.
    rewrite <- Ex at 2 3. rewrite <- Ey at 2. lra.
Qed.

End Supremum.

Definition covered (G M : measure) : bool :=
  let '(ok, d, _, _) := scan (lost G) (lost M) (masses G) (masses M) in
  (first G =? first M)%Z && ok && (0 <=? d)%Z.

Theorem covered_ok G M l : valid G -> valid M -> covered G M = true ->
  dominates (pair t s M) l -> dominates (pair t s G) l.
Proof.
  intros VG VM E D x y X Y. unfold covered in E.
  destruct (scan _ _ _ _) as [[[ok d] a] b] eqn:S. apply andb_true_iff in E as [E F].
  apply andb_true_iff in E as [K ->]. apply Z.eqb_eq in K. apply Z.leb_le in F.
  pose proof s_pos as SP. assert (C : 0 < r ^ first G) by apply power_pos.
  remember (r ^ first G) as c eqn:Ec.
  assert (H : forall x y, 0 <= x -> 0 <= y -> h l x y <= s * (!(lost M) * x + v c (masses M) x y)).
  { intros x' y' X' Y'. specialize (D x' y' X' Y'). rewrite h_pair in D by (assumption || lra).
    unfold Measures.value in D. rewrite <- K, <- Ec in D. exact D. }
  destruct (scan_ok (lost G) (lost M) l (masses G) (masses M) c d a b (proj1 VG) (proj1 VM) C S
    (fun x y X Y _ => H x y X Y)) as (-> & _ & _ & B).
  rewrite h_pair by (assumption || lra). unfold Measures.value. rewrite <- Ec.
  destruct (Qlt_le_dec (y * c) x) as [L|L]; [|apply B; assumption].
  pose proof (cone l (x - y * c) y 1 0 c 1 ltac:(lra) Y) as D0.
  assert (Ex : (x - y * c) * 1 + y * c == x) by ring. assert (Ey : (x - y * c) * 0 + y * 1 == y) by ring.
  rewrite Ex, Ey in D0. specialize (B c 1 ltac:(lra) ltac:(lra) ltac:(lra)).
  specialize (H 1 0 ltac:(lra) ltac:(lra)). rewrite v_total in H by lra.
  apply le_Q in F. unfold Z.sub in F. rewrite !inject_Z_plus, !inject_Z_opp in F. change (!0) with 0 in F.
  assert (F' : h l 1 0 <= s * (!(lost G) * 1 + !(total (masses G)) * 1)).
  { eapply Qle_trans; [exact H|]. apply mul_le_l; lra. }
  pose proof (mul_le_l (x - y * c) _ _ ltac:(lra) F'). pose proof (mul_le_l y _ _ Y B).
  rewrite v_linear in * by lra. lra.
Qed.

(** The least masses, from the last node down, that reach the largest of some heights at each node. No proof is needed
    of this: [covered] checks what it returns. *)
Fixpoint heights (j : Z) (ms : list Z) : list Z * Z * Z :=
  match ms with
  | [] => ([], j, 0%Z)
  | m :: l => let '(hs, sum, b) := heights j l in let b' := down t b in ((sum - b')%Z :: hs, (sum + m)%Z, (m + b')%Z)
  end.

Fixpoint highest (a b : list Z) : list Z :=
  match a, b with
  | x :: a, y :: b => Z.max x y :: highest a b
  | [], b => b
  | a, [] => a
  end.

Fixpoint dots (i prev : Z) (hs : list Z) : list Z * Z * Z :=
  match hs with
  | [] => ([], i, 0%Z)
  | height :: hs =>
    let '(gs, sum, a) := dots i height hs in
    let a' := up t a in
    let g := Z.max 0 (a' * Zpos t - (sum - prev) * Zpos (t + 1)) in
    (g :: gs, (sum + g)%Z, (g + a')%Z)
  end.

Definition supremum (Ms : list measure) : measure :=
  let found := map (fun M => heights (lost M) (masses M)) Ms in
  let hs := fold_right (fun f => highest (fst (fst f))) [] found in
  let most := fold_right (fun f => Z.max (snd (fst f))) 0%Z found in
  let i := fold_right (fun M => Z.max (lost M)) 0%Z Ms in
  let k := match Ms with [] => 0%Z | M :: _ => first M end in
  match hs with
  | [] => Measure k [] i
  | height :: later =>
    let '(gs, sum, _) := dots i height later in Measure k (Z.max 0 (most - sum) :: gs) i
  end.

Definition validb (M : measure) : bool := forallb (Z.leb 0) (masses M) && (0 <=? lost M)%Z.

Lemma validb_ok M : validb M = true -> valid M.
Proof.
  intro H. apply andb_true_iff in H as [A B]. apply Z.leb_le in B. split; [|exact B].
  rewrite forallb_forall in A. apply Forall_forall. intros z Hz. apply Z.leb_le. apply A, Hz.
Qed.

(** ** Many instances *)

Variable mul : list Z -> list Z -> list Z.
Hypothesis mul_ok : forall a b, whole a -> whole b -> mul a b = pmul a b.

Variables low high : Z.

Definition combined (A B : measure) : measure := lowered high (raised low (rounded O (product_with mul A B))).

Lemma combined_ok A B : valid A -> valid B ->
  valid (combined A B) /\ dominates (pair t s (combined A B)) (times (pair t s A) (pair t s B)).
Proof.
  intros VA VB. unfold combined.
  assert (E : product_with mul A B = product A B).
  { unfold product, product_with. rewrite mul_ok; [reflexivity|apply VA|apply VB]. }
  rewrite E. pose proof (product_valid A B VA VB) as V0.
  assert (V1 : valid (rounded O (product A B))) by (apply rounded_valid; [reflexivity|assumption]).
  destruct (raised_ok t low _ V1) as [V2 H2]. destruct (lowered_ok t high _ V2) as [V3 H3].
  split; [exact V3|]. intros x y X Y. pose proof s_pos as SP.
  rewrite (product_value t s s A B x y) by (assumption || lra). rewrite h_pair by (assumption || lra).
  pose proof (rounded_value t O (product A B) x y eq_refl X) as H1. specialize (H2 x y X Y). specialize (H3 x y X Y).
  rewrite <- Qmult_assoc. apply mul_le_l; [lra|]. eapply Qle_trans; [apply mul_le_l; [lra|exact H1]|].
  rewrite Qmult_assoc, s_times. lra.
Qed.

Fixpoint many (n : positive) (M : measure) : measure :=
  match n with
  | xH => M
  | xO n => let N := many n M in combined N N
  | xI n => let N := many n M in combined M (combined N N)
  end.

Lemma pair_whole M : valid M -> nonneg (pair t s M).
Proof. intro. apply pair_nonneg; [apply Qlt_le_weak, s_pos|assumption]. Qed.

Lemma many_ok M : valid M -> forall n,
  valid (many n M) /\ dominates (pair t s (many n M)) (power (pair t s M) (Pos.to_nat n)).
Proof.
  intro V. pose proof (pair_whole M V) as N.
  assert (two : forall n A, valid A -> dominates (pair t s A) (power (pair t s M) n) ->
    valid (combined A A) /\ dominates (pair t s (combined A A)) (power (pair t s M) (n + n))).
  { intros n A VA D. destruct (combined_ok A A VA VA) as [VC C]. split; [exact VC|].
    eapply dominates_trans; [exact C|]. intros x y X Y. rewrite power_add by assumption.
    apply joint_dominated; auto using power_nonneg, pair_whole. }
  induction n as [n [VA D]|n [VA D]|]; cbn [many].
  - destruct (two _ _ VA D) as [VB E]. destruct (combined_ok M _ V VB) as [VC C]. split; [exact VC|].
    eapply dominates_trans; [exact C|]. replace (Pos.to_nat n~1) with (S (Pos.to_nat n + Pos.to_nat n)) by lia.
    cbn [power]. apply joint_dominated; auto using dominates_refl, pair_whole.
  - replace (Pos.to_nat n~0) with (Pos.to_nat n + Pos.to_nat n)%nat by lia. apply two; assumption.
  - split; [exact V|]. change (Pos.to_nat 1) with 1%nat. cbn [power]. intros x y X Y.
    setoid_replace (h (times (pair t s M) one) x y) with (h (pair t s M) x y); [lra|].
    unfold one. rewrite h_times_cons, h_times_nil, !Qmult_1_r. ring.
Qed.

(** ** The claim: delta of at most d / o at a share w of b^k and 1 - w of b^(k + 1), where a convex profile is below the
    same mixture of its values at both *)

Definition power_at (k : Z) (w : Q) : Q := / r ^ (k + 1) * (1 - w * (1 - r)).

Definition shows (N : measure) (k : Z) (w d : Q) : bool :=
  let N := raised k N in
  let between := w * !(delta t N) + (1 - w) * !(delta t (push N)) in
  (first N =? k)%Z && Qle_bool 0 w && Qle_bool w 1 && Qle_bool between (d * !O).

Lemma value_at N l k : valid N -> dominates (pair t s N) l -> first N = k -> h l 1 (/ r ^ k) <= s * !(delta t N).
Proof.
  intros V D <-. assert (P : 0 <= / r ^ first N) by (apply Qlt_le_weak, Qinv_lt_0_compat, power_pos).
  pose proof (D 1 _ ltac:(lra) P) as H. pose proof s_pos as SP. rewrite h_pair in H by (assumption || lra).
  pose proof (mul_le_l s _ _ ltac:(lra) (delta_bounds t _ V)). lra.
Qed.

Lemma below_dominates M N l : valid M -> valid N -> below t M N -> dominates (pair t s M) l -> dominates (pair t s N) l.
Proof.
  intros VM VN B D x y X Y. specialize (D x y X Y). specialize (B x y X Y). pose proof s_pos as SP.
  rewrite h_pair in * by (assumption || lra). pose proof (mul_le_l s _ _ ltac:(lra) B). lra.
Qed.

Lemma shows_ok N k w d l : valid N -> dominates (pair t s N) l -> shows N k w d = true -> h l 1 (power_at k w) <= d.
Proof.
  intros VN D A. unfold shows in A. destruct (raised_ok t k _ VN) as [VR B].
  rewrite !andb_true_iff, !Qle_bool_iff in A. destruct A as [[[F W0] W1] A]. apply Z.eqb_eq in F.
  pose proof (below_dominates _ _ l VN VR B D) as DR. set (R := raised k N) in *. clearbody R.
  pose proof (push_valid R VR) as VP. pose proof (below_dominates _ _ l VR VP (push_below t R VR) DR) as DP.
  pose proof (value_at R l k VR DR F) as H0.
  assert (F' : first (push R) = (k + 1)%Z) by (cbn; lia). pose proof (value_at _ l _ VP DP F') as H1.
  pose proof (cone l w (1 - w) 1 (/ r ^ k) 1 (/ r ^ (k + 1)) W0 ltac:(lra)) as C.
  assert (E : w * / r ^ k + (1 - w) * / r ^ (k + 1) == power_at k w).
  { unfold power_at. rewrite power_next. pose proof (power_pos t k). pose proof (r_pos t). field. split; lra. }
  assert (E1 : w * 1 + (1 - w) * 1 == 1) by ring. rewrite E, E1 in C.
  pose proof (mul_le_l _ _ _ W0 H0). pose proof (mul_le_l (1 - w) _ _ ltac:(lra) H1).
  assert (M : s * (w * !(delta t R) + (1 - w) * !(delta t (push R))) <= s * (d * !O))
    by (apply mul_le_l; [apply Qlt_le_weak, s_pos|exact A]).
  setoid_replace (s * (d * !O)) with (d * (s * !O)) in M by ring. rewrite s_times in M. lra.
Qed.

(** ** The worst of several measures, and e^epsilon *)

Definition worst (Ms : list measure) : option measure :=
  let G := supremum Ms in if validb G && forallb (covered G) Ms then Some G else None.

Lemma worst_ok Ms G (class : law -> Prop) : worst Ms = Some G ->
  (forall l, class l -> nonneg l /\ exists M, In M Ms /\ valid M /\ dominates (pair t s M) l) ->
  valid G /\ covers (pair t s G) class.
Proof.
  unfold worst. destruct (validb _ && _) eqn:E; [|discriminate]. intros H C. injection H as <-.
  apply andb_true_iff in E as [V A]. apply validb_ok in V. split; [exact V|]. intros l L.
  destruct (C l L) as (N & M & I & VM & D). split; [exact N|]. rewrite forallb_forall in A.
  exact (covered_ok _ M l V VM (A M I) D).
Qed.

(** The sum of x^i / i! up to i = n: never more than e^x, if x is not negative. *)
Fixpoint term (x : Q) (n : nat) : Q :=
  match n with 0%nat => 1 | S m => term x m * x / !(Z.of_nat n) end.
Fixpoint exponential (x : Q) (n : nat) : Q := match n with 0%nat => 1 | S m => exponential x m + term x n end.

Record claim := Claim {
  epsilon : Q; delta_ : Q; instances : positive;
  (* how it is shown: *) terms : nat; node : Z; share : Q; runs : list (nat * positive) }.

(** Every event obeys (epsilon, delta). *)
Definition obeys (l : law) (c : claim) : Prop :=
  forall S, event fst l S <= exponential (epsilon c) (terms c) * event snd l S + delta_ c.

Definition shows_claim (N : measure) (c : claim) : bool :=
  shows N (node c) (share c) (delta_ c) && Qle_bool (power_at (node c) (share c)) (exponential (epsilon c) (terms c)).

Lemma event_nonneg l : nonneg l -> forall S, 0 <= event snd l S.
Proof.
  induction 1 as [|[p q] l [P P'] N IH]; intro S; cbn [event snd] in *; [lra|].
  specialize (IH (fun i => S (Datatypes.S i))). destruct (S 0%nat); lra.
Qed.

Lemma shows_claim_ok N c l : valid N -> nonneg l -> dominates (pair t s N) l -> shows_claim N c = true -> obeys l c.
Proof.
  intros V P D A S. apply andb_true_iff in A as [A X]. apply Qle_bool_imp_le in X.
  pose proof (shows_ok N _ _ _ l V D A) as H. pose proof (events l S (power_at (node c) (share c))).
  pose proof (Qmult_le_compat_r _ _ _ X (event_nonneg l P S)). lra.
Qed.

(** Whatever is chosen by what was seen. *)
Definition private (class : law -> Prop) (c : claim) : Prop :=
  forall l, adaptive (repeat class (Pos.to_nat (instances c))) l -> obeys l c.

End Checker.
