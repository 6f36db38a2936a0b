(** Randomized response, shuffled: from the number of users and the flip probability to delta.

    Each of n users reports her bit, flipped with probability p; the shuffler shows how many reports are 1. *)

From Kernel Require Export Checker.

(** One more user's report: 0 with probability a, 1 with probability b. *)
Fixpoint report (a b : Q) (prev : Q * Q) (l : law) : law :=
  match l with
  | [] => [(b * fst prev, b * snd prev)]
  | z :: l => (a * fst z + b * fst prev, a * snd z + b * snd prev) :: report a b z l
  end.

Definition none : Q * Q := (0, 0).

Section Protocol.

Variable p : Q.

Definition user (bit : bool) : law -> law := if bit then report p (1 - p) none else report (1 - p) p none.

(** The two laws of the number of reports 1, on 0, ..., n: if one user has [bit], and if she has the other one. *)
Definition own (bit : bool) : law := if bit then [(p, 1 - p); (1 - p, p)] else [(1 - p, p); (p, 1 - p)].

Definition reports (bit : bool) (others : list bool) : law := fold_right user (own bit) others.

(** All neighbouring data sets of n users, in both directions. *)
Definition neighbours (n : nat) (l : law) : Prop :=
  exists bit others, S (length others) = n /\ l = reports bit others.

Hypothesis P0 : 0 <= p.
Hypothesis P1 : p <= 1.

Notation Bounds := (Forall2 bounds).

Lemma bounds_refl l : Bounds l l.
Proof. induction l; constructor; [split; lra|assumption]. Qed.

Lemma bounds_trans a : forall b c, Bounds a b -> Bounds b c -> Bounds a c.
Proof.
  induction a as [|u a IH]; intros b c A B; inversion A; subst; inversion B; subst; constructor.
  - unfold bounds in *. lra.
  - eapply IH; eassumption.
Qed.

Lemma report_bounds a b l : 0 <= a -> 0 <= b -> forall l' prev prev', bounds prev prev' -> Bounds l l' ->
  Bounds (report a b prev l) (report a b prev' l').
Proof.
  intros A B. induction l as [|z l IH]; intros l' prev prev' [P P'] F; inversion F; subst; cbn [report]; constructor.
  - unfold bounds; cbn [fst snd]. split; apply mul_le_l; assumption.
  - constructor.
  - destruct H1 as [Z Z']. unfold bounds; cbn [fst snd].
    pose proof (mul_le_l _ _ _ A Z). pose proof (mul_le_l _ _ _ A Z').
    pose proof (mul_le_l _ _ _ B P). pose proof (mul_le_l _ _ _ B P'). split; lra.
  - apply IH; assumption.
Qed.

(** The order of the users does not matter. *)
Lemma report_commute a b c d l : forall x y s s',
  fst s == c * fst x + d * fst y -> snd s == c * snd x + d * snd y ->
  fst s' == a * fst x + b * fst y -> snd s' == a * snd x + b * snd y ->
  Bounds (report a b s (report c d x l)) (report c d s' (report a b x l)).
Proof.
  induction l as [|z l IH]; intros x y s s' E1 E2 E3 E4; cbn [report].
  - constructor; [|constructor; [|constructor]]; unfold bounds; cbn [fst snd];
      rewrite ?E1, ?E2, ?E3, ?E4; split; apply Qle_lteq; right; ring.
  - constructor.
    + unfold bounds; cbn [fst snd]; rewrite ?E1, ?E2, ?E3, ?E4; split; apply Qle_lteq; right; ring.
    + apply (IH z x); cbn [fst snd]; reflexivity.
Qed.

Lemma user_commute bit bit' l : Bounds (user bit (user bit' l)) (user bit' (user bit l)).
Proof.
  destruct bit, bit'; apply (report_commute _ _ _ _ l none none); cbn [none fst snd]; ring.
Qed.

Lemma user_bounds bit l l' : Bounds l l' -> Bounds (user bit l) (user bit l').
Proof. intro. destruct bit; apply report_bounds; try lra; try assumption; split; lra. Qed.

Definition users (n : nat) (bit : bool) (l : law) : law := Nat.iter n (user bit) l.

Lemma users_bounds n bit l l' : Bounds l l' -> Bounds (users n bit l) (users n bit l').
Proof. intro H. induction n; [exact H|]. apply user_bounds. assumption. Qed.

Lemma users_add m n bit l : users (m + n) bit l = users m bit (users n bit l).
Proof. induction m as [|m IH]; [reflexivity|]. exact (f_equal (user bit) IH). Qed.

Lemma user_users n bit bit' l : Bounds (user bit (users n bit' l)) (users n bit' (user bit l)).
Proof.
  induction n as [|n IH]; [apply bounds_refl|].
  change (users (S n) bit' l) with (user bit' (users n bit' l)).
  eapply bounds_trans; [apply user_commute|]. apply user_bounds. assumption.
Qed.

Lemma users_users m n bit bit' l : Bounds (users m bit (users n bit' l)) (users n bit' (users m bit l)).
Proof.
  induction m as [|m IH]; [apply bounds_refl|].
  change (users (S m) bit (users n bit' l)) with (user bit (users m bit (users n bit' l))).
  eapply bounds_trans; [apply user_bounds; exact IH|]. apply user_users.
Qed.

Definition ones (others : list bool) : nat := length (filter (fun b => b) others).
Definition zeros (others : list bool) : nat := length (filter negb others).

Lemma ones_zeros others : length others = (ones others + zeros others)%nat.
Proof. induction others as [|[|] l IH]; cbn in *; unfold ones, zeros in *; cbn; lia. Qed.

Lemma sorted bit others :
  Bounds (reports bit others) (users (ones others) true (users (zeros others) false (own bit))).
Proof.
  induction others as [|b l IH]; [apply bounds_refl|]. change (reports bit (b :: l)) with (user b (reports bit l)).
  eapply bounds_trans; [apply user_bounds; exact IH|]. destruct b.
  - apply bounds_refl.
  - eapply bounds_trans; [apply user_users|]. apply bounds_refl.
Qed.

(** Who reveals other users' reports loses privacy. *)
Lemma h_report a b l x y : 0 <= a -> 0 <= b -> 0 <= x -> 0 <= y -> forall prev,
  h (report a b prev l) x y <= (a + b) * h l x y + b * pos (x * fst prev - y * snd prev).
Proof.
  intros A B X Y. induction l as [|[u w] l IH]; intros [e f]; cbn [report h fst snd].
  - setoid_replace (x * (b * e) - y * (b * f)) with (b * (x * e - y * f)) by ring. rewrite pos_scale by assumption. lra.
  - specialize (IH (u, w)). cbn [fst snd] in IH.
    setoid_replace (x * (a * u + b * e) - y * (a * w + b * f)) with (a * (x * u - y * w) + b * (x * e - y * f)) by ring.
    pose proof (pos_add (a * (x * u - y * w)) (b * (x * e - y * f))) as H. rewrite !pos_scale in H by assumption.
    lra.
Qed.

Lemma revealed bit l : dominates l (user bit l).
Proof.
  intros x y X Y. destruct bit; cbn [user].
  - pose proof (h_report p (1 - p) l x y P0 ltac:(lra) X Y none) as H. cbn [none fst snd] in H.
    assert (E : pos (x * 0 - y * 0) == 0) by (positive; lra). rewrite E in H. lra.
  - pose proof (h_report (1 - p) p l x y ltac:(lra) P0 X Y none) as H. cbn [none fst snd] in H.
    assert (E : pos (x * 0 - y * 0) == 0) by (positive; lra). rewrite E in H. lra.
Qed.

Lemma all_revealed n bit l : dominates l (users n bit l).
Proof. induction n as [|n IH]; [apply dominates_refl|]. eapply dominates_trans; [exact IH|]. apply revealed. Qed.

Definition hidden (bit : bool) (k z : nat) : law := users k true (users z false (own bit)).

(** A cell: k ones and z zeros hidden, among others who hold at least as many of both. *)
Theorem cell bit others k z : (k <= ones others)%nat -> (z <= zeros others)%nat ->
  dominates (hidden bit k z) (reports bit others).
Proof.
  intros K Z. eapply dominates_trans; [|apply bounded_dominates, sorted].
  replace (ones others) with ((ones others - k) + k)%nat by lia.
  replace (zeros others) with ((zeros others - z) + z)%nat by lia.
  generalize (ones others - k)%nat (zeros others - z)%nat. intros m n. unfold hidden.
  rewrite !users_add.
  eapply dominates_trans; [|apply all_revealed].
  eapply dominates_trans; [apply (all_revealed n false)|]. apply bounded_dominates.
  apply (users_users k n true false).
Qed.

Lemma report_nonneg a b l : 0 <= a -> 0 <= b -> forall prev, 0 <= fst prev -> 0 <= snd prev -> nonneg l ->
  nonneg (report a b prev l).
Proof.
  intros A B. induction l as [|z l IH]; intros prev E F N; cbn [report]; constructor; cbn [fst snd].
  - split; nra.
  - constructor.
  - inversion N as [|? ? [G H] N']; subst.
    assert (0 <= a * fst z) by nra. assert (0 <= a * snd z) by nra.
    assert (0 <= b * fst prev) by nra. assert (0 <= b * snd prev) by nra. split; lra.
  - inversion N as [|? ? [G H] N']; subst. apply IH; assumption.
Qed.

Lemma reports_nonneg bit others : nonneg (reports bit others).
Proof.
  induction others as [|b l IH]; cbn [reports fold_right].
  - destruct bit; repeat constructor; cbn [fst snd]; lra.
  - destruct b; apply report_nonneg; cbn [none fst snd]; try lra; exact IH.
Qed.

End Protocol.

(** ** The same laws in integers: the first one rounded up, the second one down *)

Section Computation.

Variables t o : positive.
Variables u w : positive.  (* the flip probability is u / w *)
Hypothesis UW : (u <= w)%positive.

Notation p := (Zpos u # w).
Notation O := (Zpos o) (only parsing).

Definition floor (m : Z) : Z := quotient m O.

Fixpoint zreport (a b : Z * Z) (prev : Z * Z) (l : list (Z * Z)) : list (Z * Z) :=
  match l with
  | [] => [(over (fst b * fst prev) O, floor (snd b * snd prev))]
  | z :: l =>
    (over (fst a * fst z + fst b * fst prev) O, floor (snd a * snd z + snd b * snd prev)) :: zreport a b z l
  end.

(** Bounds on a pair of weights, over o. *)
Definition near (a : Q * Q) (z : Z * Z) : Prop :=
  fst a * !O <= !(fst z) /\ !(snd z) <= snd a * !O /\ (0 <= fst z)%Z /\ (0 <= snd z)%Z.

Lemma floor_Q m : !(floor m) * !O <= !m.
Proof. rewrite <- inject_Z_mult. apply le_Q. unfold floor. rewrite quotient_eq. pose proof (Z.mul_div_le m O). lia. Qed.

Lemma over_Q' m : !m <= !(over m O) * !O.
Proof. rewrite <- inject_Z_mult. apply le_Q. apply over_spec. reflexivity. Qed.

Lemma floor_nonneg m : (0 <= m)%Z -> (0 <= floor m)%Z.
Proof. intro. unfold floor. rewrite quotient_eq. apply Z.div_pos; lia. Qed.

(** Upper and lower bounds on a probability n / w. *)
Definition chance (n : Z) : Z * Z := (over (n * O) (Zpos w), (n * O / Zpos w)%Z).

Lemma w_pos : 0 < !(Zpos w).
Proof. reflexivity. Qed.

Lemma chance_ok n : (0 <= n)%Z -> near (n # w, n # w) (chance n).
Proof.
  intro N. assert (E : (n # w) * !(Zpos w) == !n) by (unfold Qeq, Qmult, inject_Z; cbn [Qnum Qden]; lia).
  unfold near, chance; cbn [fst snd]. repeat split.
  - assert (H : (n # w) * !O * !(Zpos w) <= !(over (n * O) (Zpos w)) * !(Zpos w)).
    { rewrite <- inject_Z_mult. pose proof (over_spec (n * O) (Zpos w) eq_refl) as H. apply le_Q in H.
      rewrite inject_Z_mult in H. setoid_replace ((n # w) * !O * !(Zpos w)) with (((n # w) * !(Zpos w)) * !O) by ring.
      rewrite E. exact H. }
    apply Qmult_le_r in H; [exact H|reflexivity].
  - assert (H : !(n * O / Zpos w) * !(Zpos w) <= (n # w) * !O * !(Zpos w)).
    { setoid_replace ((n # w) * !O * !(Zpos w)) with (((n # w) * !(Zpos w)) * !O) by ring. rewrite E.
      rewrite <- !inject_Z_mult. apply le_Q. pose proof (Z.mul_div_le (n * O) (Zpos w)). lia. }
    apply Qmult_le_r in H; [exact H|reflexivity].
  - apply over_nonneg; lia.
  - apply Z.div_pos; lia.
Qed.

Lemma mul_le a a' b b' : 0 <= a -> 0 <= b -> a <= a' -> b <= b' -> a * b <= a' * b'.
Proof. intros. nra. Qed.

Lemma zreport_ok a b l : forall l' a' b' prev prev', 0 <= a -> 0 <= b -> near (a, a) a' -> near (b, b) b' ->
  0 <= fst prev -> 0 <= snd prev -> nonneg l -> near prev prev' -> Forall2 near l l' ->
  Forall2 near (report a b prev l) (zreport a' b' prev' l').
Proof.
  assert (OO : 0 < !O) by reflexivity.
  assert (both : forall c d x y (c1 d1 x' y' : Z), 0 <= c -> 0 <= d -> 0 <= x -> 0 <= y ->
    c * !O <= !c1 -> d * !O <= !d1 -> x * !O <= !x' -> y * !O <= !y' ->
    (c * x + d * y) * !O <= !(over (c1 * x' + d1 * y') O)).
  { intros. pose proof (over_Q' (c1 * x' + d1 * y')) as H7. rewrite inject_Z_plus, !inject_Z_mult in H7.
    pose proof (mul_le (c * !O) (!c1) (x * !O) (!x') ltac:(nra) ltac:(nra) H3 H5).
    pose proof (mul_le (d * !O) (!d1) (y * !O) (!y') ltac:(nra) ltac:(nra) H4 H6).
    assert (E : (c * x + d * y) * !O * !O <= !(over (c1 * x' + d1 * y') O) * !O) by lra.
    apply Qmult_le_r in E; assumption. }
  assert (both' : forall c d x y (c1 d1 x' y' : Z), (0 <= c1)%Z -> (0 <= d1)%Z -> (0 <= x')%Z -> (0 <= y')%Z ->
    !c1 <= c * !O -> !d1 <= d * !O -> !x' <= x * !O -> !y' <= y * !O ->
    !(floor (c1 * x' + d1 * y')) <= (c * x + d * y) * !O).
  { intros. apply nonneg_Q in H, H0, H1, H2.
    pose proof (floor_Q (c1 * x' + d1 * y')) as H7. rewrite inject_Z_plus, !inject_Z_mult in H7.
    pose proof (mul_le (!c1) (c * !O) (!x') (x * !O) H H1 H3 H5).
    pose proof (mul_le (!d1) (d * !O) (!y') (y * !O) H0 H2 H4 H6).
    assert (E : !(floor (c1 * x' + d1 * y')) * !O <= (c * x + d * y) * !O * !O) by lra.
    apply Qmult_le_r in E; assumption. }
  induction l as [|z l IH]; intros l' a' b' prev prev' A B NA NB P P' N NP F; inversion F as [|? z' ? l'' NZ F']; subst;
    cbn [report zreport]; destruct NA as (A1 & A2 & A3 & A4), NB as (B1 & B2 & B3 & B4), NP as (P1 & P2 & P3 & P4);
    cbn [fst snd] in *.
  - constructor; [|constructor]. unfold near; cbn [fst snd].
    specialize (both 0 b 0 (fst prev) 0%Z (fst b') 0%Z (fst prev')).
    specialize (both' 0 b 0 (snd prev) 0%Z (snd b') 0%Z (snd prev')).
    cbn [Z.mul Z.add] in *. change (!0) with 0 in *. repeat split.
    + eapply Qle_trans; [|apply both; assumption || lra]. lra.
    + eapply Qle_trans; [apply both'; assumption || lra || lia|]. lra.
    + apply over_nonneg; [reflexivity|]. nia.
    + apply floor_nonneg. nia.
  - inversion N as [|? ? [Z1 Z2] N']; subst. destruct NZ as (Z3 & Z4 & Z5 & Z6). constructor.
    + unfold near; cbn [fst snd]. repeat split.
      * apply both; assumption.
      * apply both'; assumption.
      * apply over_nonneg; [reflexivity|]. nia.
      * apply floor_nonneg. nia.
    + apply IH; try assumption; unfold near; cbn [fst snd]; auto.
Qed.

Definition keep : Z * Z := chance (Zpos w - Zpos u).
Definition flip : Z * Z := chance (Zpos u).

Definition zuser (bit : bool) : list (Z * Z) -> list (Z * Z) :=
  if bit then zreport flip keep (0, 0)%Z else zreport keep flip (0, 0)%Z.

Definition zown (bit : bool) : list (Z * Z) :=
  let (keep, flip) := (keep, flip) in
  if bit then [(fst flip, snd keep); (fst keep, snd flip)] else [(fst keep, snd flip); (fst flip, snd keep)].

Definition zhidden (bit : bool) (k z : nat) : list (Z * Z) := Nat.iter k (zuser true) (Nat.iter z (zuser false) (zown bit)).

Lemma p_ok : 0 <= p /\ p <= 1.
Proof. unfold Qle; cbn [Qnum Qden]; lia. Qed.

Lemma near_eq a a' z : a == a' -> near (a, a) z -> near (a', a') z.
Proof. intros E H. unfold near in *; cbn [fst snd] in *. rewrite <- E. exact H. Qed.

Lemma keep_eq : (Zpos w - Zpos u # w) == 1 - p.
Proof. unfold Qeq, Qminus, Qplus, Qopp; cbn [Qnum Qden]. nia. Qed.

Lemma keep_ok : near (1 - p, 1 - p) keep.
Proof. apply (near_eq _ _ _ keep_eq). apply chance_ok. lia. Qed.

Lemma flip_ok : near (p, p) flip.
Proof. apply chance_ok. lia. Qed.

Lemma near_none : near none (0, 0)%Z.
Proof. unfold near, none; cbn [fst snd]. change (!0) with 0. repeat split; (lia || lra). Qed.

Lemma zuser_ok bit l l' : nonneg l -> Forall2 near l l' -> Forall2 near (user p bit l) (zuser bit l').
Proof.
  intros N F. destruct p_ok as [P0 P1].
  destruct bit; apply zreport_ok;
    try apply keep_ok; try apply flip_ok; try apply near_none; try assumption; cbn [none fst snd]; lra.
Qed.

Lemma zown_ok bit : Forall2 near (own p bit) (zown bit).
Proof.
  destruct keep_ok as (A & B & C & D), flip_ok as (E & F & G & H). cbn [fst snd] in *.
  destruct bit; repeat constructor; cbn [fst snd]; assumption.
Qed.

Lemma user_nonneg bit l : nonneg l -> nonneg (user p bit l).
Proof.
  intro N. destruct p_ok as [P0 P1]. destruct bit; apply report_nonneg; cbn [none fst snd]; try lra; exact N.
Qed.

Lemma zusers_ok n bit l l' : nonneg l -> Forall2 near l l' ->
  nonneg (users p n bit l) /\ Forall2 near (users p n bit l) (Nat.iter n (zuser bit) l').
Proof.
  intros N F. induction n as [|n [IH IH']]; [split; assumption|].
  split; [exact (user_nonneg bit _ IH)|exact (zuser_ok bit _ _ IH IH')].
Qed.

Lemma zhidden_ok bit k z : Forall2 near (hidden p bit k z) (zhidden bit k z).
Proof.
  assert (N : nonneg (own p bit)) by (destruct p_ok; destruct bit; repeat constructor; cbn [fst snd]; lra).
  destruct (zusers_ok z false _ _ N (zown_ok bit)) as [N' F'].
  apply (zusers_ok k true _ _ N' F').
Qed.

Lemma near_wholes l l' : Forall2 near l l' -> wholes l'.
Proof. induction 1 as [|? ? ? ? (_ & _ & A & B) F IH]; constructor; auto. Qed.

Lemma near_dominates l l' : Forall2 near l l' -> dominates (atom_law o l') l.
Proof.
  intro F. apply bounded_dominates. induction F as [|a z l l' (A & B & _) F IH]; [constructor|].
  cbn [atom_law map]. constructor; [|exact IH]. unfold bounds; cbn [fst snd].
  split; apply (cancel_O o).
  - setoid_replace (s o * !(fst z) * !O) with (!(fst z) * (s o * !O)) by ring. rewrite s_times. lra.
  - setoid_replace (s o * !(snd z) * !O) with (!(snd z) * (s o * !O)) by ring. rewrite s_times. lra.
Qed.

(** ** The worst of all data sets, and the claim *)

Variable first_node : Z.
Variable length_ : nat.
Variable n : nat.  (* users *)
Variable c : nat.  (* how many of the others are revealed *)

(** Likelihood ratios grow with the count if her bit is 1, else they fall: atoms are sharply placed if ratios grow. *)
Definition sorted_atoms (bit : bool) (l : list (Z * Z)) : list (Z * Z) := if bit then l else rev l.

Lemma h_rev l x y : h (rev l) x y == h l x y.
Proof. induction l as [|[a b] l IH]; cbn [rev]; [reflexivity|]. rewrite h_app, IH. cbn [h]. ring. Qed.

Lemma sorted_atoms_ok bit l : wholes l -> wholes (sorted_atoms bit l) /\
  dominates (atom_law o (sorted_atoms bit l)) (atom_law o l).
Proof.
  intro W. destruct bit; [split; [exact W|apply dominates_refl]|]. split; [apply Forall_rev; exact W|].
  intros x y _ _. unfold sorted_atoms, atom_law. rewrite map_rev, h_rev. apply Qle_refl.
Qed.

Definition one_cell (ups : list Z) (bit : bool) (i : nat) : measure :=
  let k := (i * S c)%nat in measured_at o ups first_node length_ (sorted_atoms bit (zhidden bit k (n - 1 - k - c))).

Definition cells : list measure :=
  let ups := nodes_from t (start t o first_node) length_ in
  flat_map (fun i => [one_cell ups true i; one_cell ups false i]) (seq 0 (S ((n - 1) / S c))).

Definition instance : option measure :=
  let found := cells in
  let G := supremum t found in
  if validb G && forallb (covered t G) found then Some G else None.

Lemma instance_ok G : instance = Some G -> valid G /\ covers (pair t (s o) G) (neighbours p n).
Proof.
  unfold instance. destruct (validb _ && _) eqn:E; [|discriminate]. intro H. injection H as <-.
  apply andb_true_iff in E as [V A]. apply validb_ok in V. split; [exact V|].
  intros l (bit & others & L & ->). destruct p_ok as [P0 P1]. split; [apply reports_nonneg; assumption|].
  set (k := ones others). set (i := (k / S c)%nat).
  pose proof (ones_zeros others) as OZ. fold k in OZ.
  assert (K : (i * S c <= k)%nat) by (unfold i; pose proof (Nat.mul_div_le k (S c)); lia).
  assert (K' : (k <= i * S c + c)%nat).
  { unfold i. pose proof (Nat.mul_succ_div_gt k (S c) ltac:(lia)). lia. }
  set (ups := nodes_from t (start t o first_node) length_).
  assert (I : In (one_cell ups bit i) cells).
  { apply in_flat_map. exists i. split.
    - apply in_seq. split; [lia|]. cbn [plus]. apply Nat.lt_succ_r. apply Nat.div_le_mono; lia.
    - destruct bit; cbn; auto. }
  rewrite forallb_forall in A. specialize (A _ I).
  pose proof (zhidden_ok bit (i * S c) (n - 1 - i * S c - c)) as F.
  destruct (sorted_atoms_ok bit _ (near_wholes _ _ F)) as [W R].
  destruct (measured_ok t o first_node length_ _ W) as [V' D].
  apply (covered_ok t o _ (one_cell ups bit i)); [exact V|exact V'|exact A|].
  eapply dominates_trans; [exact D|]. eapply dominates_trans; [exact R|]. eapply dominates_trans; [exact (near_dominates _ _ F)|].
  apply cell; (assumption || lia).
Qed.

Variable mul : list Z -> list Z -> list Z.
Hypothesis mul_ok : forall a b, whole a -> whole b -> mul a b = pmul a b.
Variables low high : Z.

Definition check (instances : positive) (k d : Z) : bool :=
  match instance with
  | Some G => accepted t o mul low high G instances k d
  | None => false
  end.

(** Whatever the data sets, and whatever is chosen by what was seen: every event obeys (ln b^k, d / o). *)
Theorem check_ok instances k d : check instances k d = true ->
  forall l, adaptive (repeat (neighbours p n) (Pos.to_nat instances)) l ->
  forall event_, event fst l event_ <= / r t ^ k * event snd l event_ + (d # o).
Proof.
  unfold check. destruct instance as [G|] eqn:E; [|discriminate]. intros A l L S'.
  destruct (instance_ok G E) as [V C].
  pose proof (accepted_ok t o mul mul_ok low high G _ instances k d V C A l L).
  pose proof (events l S' (/ r t ^ k)). lra.
Qed.

End Computation.
