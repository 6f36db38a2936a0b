(** Randomized response, shuffled: from the number of users and the flip probability to delta.

    Each of n users reports her bit, flipped with probability p; the shuffler shows how many reports are 1. *)

From Kernel Require Export Laws.

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

(** With all bits and all reports flipped, her bit is the other one. *)
Lemma combine_rev {S T} (l : list S) : forall (m : list T), length l = length m ->
  combine (rev l) (rev m) = rev (combine l m).
Proof.
  assert (app : forall (l : list S) (m : list T) x y, length l = length m ->
    combine (l ++ [x]) (m ++ [y]) = combine l m ++ [(x, y)]).
  { clear. induction l as [|a l IH]; intros [|b m] x y L; try discriminate; cbn; [reflexivity|]. rewrite IH; auto. }
  induction l as [|a l IH]; intros [|b m] L; try discriminate; [reflexivity|]. cbn [rev combine].
  rewrite app, IH; [reflexivity| |rewrite !rev_length]; auto.
Qed.

Definition blend (a b : Q) (both : (Q * Q) * (Q * Q)) : Q * Q :=
  (a * fst (fst both) + b * fst (snd both), a * snd (fst both) + b * snd (snd both)).

Lemma report_blend a b l : forall prev,
  Bounds (report a b prev l) (map (blend a b) (combine (l ++ [none]) (prev :: l))) /\
  Bounds (map (blend a b) (combine (l ++ [none]) (prev :: l))) (report a b prev l).
Proof.
  induction l as [|z l IH]; intro prev; cbn [report app combine map].
  - split; constructor; try constructor; unfold bounds, blend, none; cbn [fst snd]; lra.
  - destruct (IH z) as [A C]. split; (constructor; [split; cbn [fst snd blend]; lra|assumption]).
Qed.

Lemma blend_swap a b l : forall m, Bounds (map (blend a b) (combine l m)) (map (blend b a) (combine m l)).
Proof.
  induction l as [|x l IH]; intros [|y m]; cbn [combine map]; constructor; [split; cbn [blend fst snd]; lra|apply IH].
Qed.

Lemma bounds_rev l m : Bounds l m -> Bounds (rev l) (rev m).
Proof. induction 1; cbn [rev]; [constructor|]. apply Forall2_app; [assumption|]. repeat constructor; apply H. Qed.

Lemma report_rev a b l : Bounds (report a b none (rev l)) (rev (report b a none l)).
Proof.
  eapply bounds_trans; [apply report_blend|]. eapply bounds_trans; [|apply bounds_rev, report_blend].
  change (none :: rev l) with (rev [none] ++ rev l). rewrite <- rev_app_distr.
  change (rev l ++ [none]) with (rev (none :: l)).
  rewrite combine_rev by (rewrite app_length; cbn; lia). rewrite map_rev. apply bounds_rev, blend_swap.
Qed.

Lemma reports_rev bit others : Bounds (reports bit others) (rev (reports (negb bit) (map negb others))).
Proof.
  induction others as [|b l IH]; [destruct bit; apply bounds_refl|]. cbn [reports fold_right map].
  eapply bounds_trans; [apply user_bounds, IH|]. destruct b; apply report_rev.
Qed.

Lemma mirrored g bit others : dominates g (reports (negb bit) (map negb others)) -> dominates g (reports bit others).
Proof.
  intro H. eapply dominates_trans; [exact H|]. eapply dominates_trans; [|apply bounded_dominates, reports_rev].
  intros x y _ _. rewrite h_rev. apply Qle_refl.
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

Lemma weight_report a b l : forall prev, weight (report a b prev l) == (a + b) * weight l + b * fst prev.
Proof. induction l as [|z l IH]; intro prev; cbn [report weight fst]; [ring|]. rewrite IH. ring. Qed.

Lemma weight_hidden bit k z : weight (hidden bit k z) == 1.
Proof.
  assert (U : forall n b l, weight l == 1 -> weight (users n b l) == 1).
  { intros n b l W. induction n as [|n IH]; [exact W|]. change (users (S n) b l) with (user b (users n b l)).
    destruct b; cbn [user]; rewrite weight_report, IH; cbn [none fst]; ring. }
  apply U, U. destruct bit; cbn [own weight fst]; ring.
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

(** ** The same laws in integers: polynomials, and lower bounds on them *)

Lemma nth_report a b l : forall prev j, let z := match j with 0%nat => prev | S i => nth i l none end in
  fst (nth j (report a b prev l) none) == a * fst (nth j l none) + b * fst z /\
  snd (nth j (report a b prev l) none) == a * snd (nth j l none) + b * snd z.
Proof.
  induction l as [|x l IH]; intros prev [|j]; cbn [report nth none fst snd]; try (split; ring).
  - destruct j; cbn [nth none fst snd]; split; ring.
  - specialize (IH x j). cbv zeta in IH. destruct j; exact IH.
Qed.

Lemma conv_two x y N j : conv (fun k => co [x; y] k) N j = (x * N j + match j with 0%nat => 0 | S i => y * N i end)%Z.
Proof.
  destruct j as [|j]; cbn [conv nth]; [lia|]. f_equal. destruct j as [|j]; cbn [conv nth]; [lia|].
  rewrite conv_zero; [lia|]. intros [|k]; reflexivity.
Qed.

Section Computation.

Variables t o : positive.
Variables u w : positive.  (* the flip probability is u / w *)
Hypothesis UW : (u <= w)%positive.

Notation p := (Zpos u # w).
Notation O := (Zpos o) (only parsing).

(** Who holds a bit reports 0 and 1 with these weights, over w; and these has a law, over W. *)
Definition chances (bit : bool) : list Z := if bit then [Zpos u; Zpos w - Zpos u]%Z else [Zpos w - Zpos u; Zpos u]%Z.
Notation chance bit := (fun k => co (chances bit) k).

Definition weights (W : positive) (l : law) (N N' : nat -> Z) : Prop :=
  forall j, fst (nth j l none) * !(Zpos W) == !(N j) /\ snd (nth j l none) * !(Zpos W) == !(N' j).

Lemma keep_eq : (1 - p) * !(Zpos w) == !(Zpos w - Zpos u).
Proof. unfold Qeq, Qminus, Qplus, Qopp, Qmult, inject_Z; cbn [Qnum Qden]. nia. Qed.

Lemma flip_eq : p * !(Zpos w) == !(Zpos u).
Proof. unfold Qeq, Qmult, inject_Z; cbn [Qnum Qden]. lia. Qed.

Lemma weights_user bit W l N N' : weights W l N N' ->
  weights (w * W) (user p bit l) (conv (chance bit) N) (conv (chance bit) N').
Proof.
  intros H.
  assert (step : forall a b x y, a * !(Zpos w) == !x -> b * !(Zpos w) == !y -> weights (w * W) (report a b none l)
    (conv (fun k => co [x; y] k) N) (conv (fun k => co [x; y] k) N')).
  { intros a b x y A C j. rewrite Pos2Z.inj_mul, inject_Z_mult. destruct (nth_report a b l none j) as [E E'].
    rewrite E, E', !conv_two, !inject_Z_plus, !inject_Z_mult, <- A. destruct (H j) as [F F']. rewrite <- F, <- F'.
    destruct j as [|j]; [cbn [none fst snd]; change (!0) with 0; split; ring|].
    destruct (H j) as [G G']. rewrite !inject_Z_mult, <- C, <- G, <- G'. split; ring. }
  destruct bit; apply step; apply keep_eq || apply flip_eq.
Qed.

Fixpoint over_w (n : nat) : positive := match n with 0%nat => 1 | S n => w * over_w n end.
Fixpoint power_of (bit : bool) (n : nat) : nat -> Z :=
  match n with 0%nat => fun k => co [1%Z] k | S n => conv (chance bit) (power_of bit n) end.

Lemma over_w_add m n : (over_w (m + n) = over_w m * over_w n)%positive.
Proof. induction m as [|m IH]; cbn [plus over_w]; [reflexivity|]. rewrite IH. apply Pos.mul_assoc. Qed.

Lemma power_of_add bit m n : forall j, power_of bit (m + n) j = conv (power_of bit m) (power_of bit n) j.
Proof.
  induction m as [|m IH]; intro j; cbn [plus power_of]; [rewrite conv_one; reflexivity|].
  rewrite conv_assoc. apply conv_eq; auto.
Qed.

Lemma weights_eq W l N N' M M' : (forall j, N j = M j) -> (forall j, N' j = M' j) -> weights W l N N' ->
  weights W l M M'.
Proof. intros A C H j. rewrite <- A, <- C. apply H. Qed.

Lemma weights_users bit n W l N N' : weights W l N N' ->
  weights (over_w n * W) (users p n bit l) (conv (power_of bit n) N) (conv (power_of bit n) N').
Proof.
  intro H. induction n as [|n IH]; cbn [over_w power_of].
  - apply (weights_eq _ _ N N'); try (intro; symmetry; apply conv_one). exact H.
  - rewrite <- Pos.mul_assoc. eapply weights_eq; [| |exact (weights_user bit _ _ _ _ IH)];
      intro j; symmetry; apply conv_assoc.
Qed.

Lemma weights_hidden bit k z : weights (over_w k * over_w z * w) (hidden p bit k z)
  (conv (conv (power_of true k) (power_of false z)) (chance bit))
  (conv (conv (power_of true k) (power_of false z)) (chance (negb bit))).
Proof.
  assert (H : weights w (own p bit) (chance bit) (chance (negb bit))).
  { intro j. destruct bit; destruct j as [|[|j]]; cbn [own chances negb nth none fst snd];
      try (split; apply keep_eq || apply flip_eq); destruct j; split; reflexivity. }
  rewrite <- Pos.mul_assoc.
  eapply weights_eq; [| |exact (weights_users true k _ _ _ _ (weights_users false z _ _ _ _ H))];
    intro j; symmetry; apply conv_assoc.
Qed.

Variable mul : list Z -> list Z -> list Z.
Hypothesis mul_ok : forall a b, whole a -> whole b -> mul a b = pmul a b.
Variable tiny : Z.
Variable c : nat.  (* users are taken S c at a time *)

Notation below W b N := (under o W (mass b) N).
Notation mix := (mix o mul).

Definition chances_low (bit : bool) : list Z := map (fun m => m * O / Zpos w)%Z (chances bit).

Lemma chances_low_ok bit : below w (0%nat, chances_low bit) (chance bit).
Proof.
  assert (E : forall m, (0 <= m -> 0 <= m * O / Zpos w /\ m * O / Zpos w * Zpos w <= m * O)%Z).
  { intros m M. split; [apply Z.div_pos; nia|]. pose proof (Z.mul_div_le (m * O) (Zpos w)). lia. }
  intro j. unfold mass; cbn [fst snd]. rewrite Nat.sub_0_r. cbn [Nat.ltb Nat.leb].
  destruct bit; destruct j as [|[|j]]; cbn [chances_low chances map nth]; try (apply E; lia); destruct j; lia.
Qed.

Definition longer (a b : block) : block := trim tiny (mix a b).

Definition bunch (bit : bool) : block := Nat.iter (S c) (longer (0%nat, chances_low bit)) (0%nat, [O]).

Lemma unit_ok : below 1 (0%nat, [O]) (power_of true 0).
Proof.
  intro j. unfold mass; cbn [fst snd power_of]. rewrite Nat.sub_0_r.
  destruct j as [|[|j]]; cbn [Nat.ltb Nat.leb nth]; lia.
Qed.

Lemma bunch_ok bit : below (over_w (S c)) (bunch bit) (power_of bit (S c)).
Proof.
  unfold bunch. induction (S c) as [|n IH]; cbn [Nat.iter over_w power_of].
  - exact unit_ok.
  - apply trim_ok, mix_ok; auto. apply chances_low_ok.
Qed.

Fixpoint ladder (more : block) (m : nat) (b : block) : list block :=
  match m with 0%nat => [b] | S m => b :: ladder more m (longer more b) end.

Lemma ladder_ok bit m : forall i b k, (i <= m)%nat -> below (over_w k) b (power_of bit k) ->
  below (over_w (i * S c + k)) (nth i (ladder (bunch bit) m b) (0%nat, [])) (power_of bit (i * S c + k)).
Proof.
  induction m as [|m IH]; intros i b k I H; (destruct i as [|i]; [exact H|]); [lia|]. cbn [ladder nth].
  replace (S i * S c + k)%nat with (i * S c + (S c + k))%nat by lia. apply IH; [lia|].
  rewrite over_w_add. eapply under_eq; [reflexivity|intro j; symmetry; apply power_of_add|].
  apply trim_ok, mix_ok; auto. apply bunch_ok.
Qed.

Lemma ladder_length more m : forall b, length (ladder more m b) = S m.
Proof. induction m as [|m IH]; intro b; cbn [ladder length]; auto. Qed.

(** The pair of laws of the reports, one user's bit being 1 or 0, from those of the others. *)
Definition atoms (others : block) : list (Z * Z) :=
  combine (snd (mix others (0%nat, chances_low true))) (snd (mix others (0%nat, chances_low false))).

Definition swap (a : Z * Z) : Z * Z := (snd a, fst a).

Lemma atoms_ok (bit : bool) k z others :
  below (over_w k * over_w z) others (conv (power_of true k) (power_of false z)) ->
  dominates (atom_law o (completed o (if bit then atoms others else map swap (atoms others)))) (hidden p bit k z).
Proof.
  intro H. destruct others as [f l]. set (side b := snd (mix (f, l) (0%nat, chances_low b))).
  assert (S : forall b, below (over_w k * over_w z * w) (f, side b) (conv (conv (power_of true k) (power_of false z))
    (chance b))).
  { intro b. pose proof (mix_ok o mul mul_ok _ _ _ _ _ _ H (chances_low_ok b)) as M. unfold side, Laws.mix in *.
    cbn [fst snd] in *. rewrite Nat.add_0_r in M. exact M. }
  assert (L : forall b b', length (side b) = length (side b')).
  { intros b b'. assert (E : forall x, length (side x) = length (pmul l (chances_low x))).
    { intro x. unfold side, Laws.mix, floored; cbn [fst snd]. rewrite map_length, mul_ok; [reflexivity| |].
      - exact (under_whole o _ _ _ _ H).
      - exact (under_whole o _ _ _ _ (chances_low_ok x)). }
    rewrite !E. destruct l as [|m l]; [reflexivity|].
    destruct b, b'; unfold chances_low; cbn [chances map]; rewrite !pmul_length; reflexivity. }
  assert (E : (if bit then atoms (f, l) else map swap (atoms (f, l))) = combine (side bit) (side (negb bit))).
  { destruct bit; [reflexivity|].
    change (map swap (combine (side true) (side false)) = combine (side false) (side true)).
    generalize (side true) (side false). clear.
    induction l as [|x l IH]; intros [|y m]; cbn [combine map]; [reflexivity..|].
    rewrite IH. reflexivity. }
  rewrite E. apply (completed_ok o _ f); [rewrite weight_hidden; lra|]. intro j. rewrite nth_padded by apply L.
  destruct (weights_hidden bit k z j) as [A A'], (S bit j) as [C D], (S (negb bit) j) as [C' D'].
  assert (bound : forall a N x W, (a * Zpos W <= N * O)%Z -> x * !(Zpos W) == !N -> s o * !a <= x).
  { intros a N x W G X. apply le_Q in G. rewrite !inject_Z_mult, <- X in G. pose proof (s_pos o) as SP.
    pose proof (mul_le_l (s o) _ _ ltac:(lra) G) as G'. pose proof (s_times o) as T.
    assert (Y : s o * !a * !(Zpos W) <= x * !(Zpos W) * (s o * !O)) by lra. rewrite T, Qmult_1_r in Y.
    apply Qmult_le_r in Y; [exact Y|reflexivity]. }
  unfold below_law; cbn [fst snd]. fold none. repeat split; [exact C|exact C'| |]; eapply bound; eassumption.
Qed.

(** ** The worst of all data sets, and the claim *)

Variable first_node : Z.
Variable length_ : nat.
Variable n : nat.  (* users *)

(** Atoms are sharply placed if likelihood ratios grow: with the count if her bit is 1, else against it. *)
Definition measures_of (ups : list Z) (others : block) : list measure :=
  let a := atoms others in
  let measured := measured_at ups first_node length_ in
  [measured (completed o a); measured (rev (completed o (map swap a)))].

Definition groups : nat := n / S c - 1.

(** The others hide i groups of ones and groups - i of zeros; with bits and reports flipped, more ones are fewer. *)
Definition half : nat := S (groups / 2).

Definition measures : list measure :=
  let ups := nodes_from t (start t first_node) length_ in
  let ones := ladder (bunch true) groups (0%nat, [O]) in
  let zeros := ladder (bunch false) groups (0%nat, [O]) in
  flat_map (fun both => measures_of ups (longer (fst both) (snd both))) (firstn half (combine ones (rev zeros))).

Lemma p_ok : 0 <= p /\ p <= 1.
Proof. unfold Qle; cbn [Qnum Qden]; lia. Qed.

Lemma completed_wholes (bit : bool) k z others :
  below (over_w k * over_w z) others (conv (power_of true k) (power_of false z)) ->
  wholes (completed o (if bit then atoms others else map swap (atoms others))).
Proof.
  intro H. destruct others as [f l]. apply Forall_app. split; [|repeat constructor; cbn [fst snd]; lia].
  assert (A : wholes (atoms (f, l))).
  { apply Forall_forall. intros [x y] I. unfold atoms, Laws.mix, floored in I; cbn [fst snd] in I.
    assert (W : forall b, whole (map (floor o) (mul l (chances_low b)))).
    { intro b. pose proof (under_whole o _ _ _ _ H) as W1. pose proof (under_whole o _ _ _ _ (chances_low_ok b)) as W2.
      rewrite mul_ok by assumption. apply Forall_map. eapply Forall_impl; [|apply pmul_whole; assumption].
      cbn. intros m M. apply floor_nonneg, M. }
    pose proof (proj1 (Forall_forall _ _) (W true) x (in_combine_l _ _ _ _ I)).
    pose proof (proj1 (Forall_forall _ _) (W false) y (in_combine_r _ _ _ _ I)). split; assumption. }
  destruct bit; [exact A|]. apply Forall_map. eapply Forall_impl; [|exact A]. cbn. tauto.
Qed.

Lemma cell_ok bit others i : S (length others) = n -> (i < half)%nat ->
  (i * S c <= ones others)%nat -> ((groups - i) * S c <= zeros others)%nat ->
  exists M, In M measures /\ valid M /\ dominates (pair t (s o) M) (reports p bit others).
Proof.
  intros L I K Z. assert (I' : (i <= groups)%nat).
  { unfold half in I. pose proof (Nat.div_le_upper_bound groups 2 groups ltac:(lia) ltac:(lia)). lia. }
  set (both := combine (ladder (bunch true) groups (0%nat, [O])) (rev (ladder (bunch false) groups (0%nat, [O])))).
  set (a := nth i (ladder (bunch true) groups (0%nat, [O])) (0%nat, [])).
  set (b := nth (groups - i) (ladder (bunch false) groups (0%nat, [O])) (0%nat, [])).
  assert (H : below (over_w (i * S c) * over_w ((groups - i) * S c)) (longer a b)
    (conv (power_of true (i * S c)) (power_of false ((groups - i) * S c)))).
  { apply trim_ok, mix_ok; auto.
    - pose proof (ladder_ok true groups i _ 0%nat I' unit_ok) as A. rewrite Nat.add_0_r in A. exact A.
    - pose proof (ladder_ok false groups (groups - i) _ 0%nat ltac:(lia) unit_ok) as A.
      rewrite Nat.add_0_r in A. exact A. }
  assert (In_ : In (a, b) (firstn half both)).
  { assert (E : (a, b) = nth i both ((0%nat, []), (0%nat, []))).
    { unfold both. rewrite combine_nth, rev_nth; rewrite ?rev_length, !ladder_length; [|lia|reflexivity].
      replace (S groups - S i)%nat with (groups - i)%nat by lia. reflexivity. }
    assert (LB : length both = S groups) by (unfold both; rewrite combine_length, rev_length, !ladder_length; lia).
    rewrite E. rewrite <- (firstn_skipn half both) at 1.
    rewrite app_nth1; [apply nth_In|]; rewrite firstn_length, LB; lia. }
  set (ups := nodes_from t (start t first_node) length_).
  set (found := completed o (if bit then atoms (longer a b) else map swap (atoms (longer a b)))).
  exists (measured_at ups first_node length_ (if bit then found else rev found)). split.
  - apply in_flat_map. exists (a, b). split; [exact In_|]. unfold found. destruct bit; cbn; auto.
  - pose proof (completed_wholes bit _ _ _ H) as W. fold found in W.
    assert (W' : wholes (if bit then found else rev found)) by (destruct bit; [exact W|apply Forall_rev; exact W]).
    destruct (measured_ok t o first_node length_ _ W') as [V D]. split; [exact V|].
    eapply dominates_trans; [exact D|]. apply (dominates_trans _ (atom_law o found)).
    + destruct bit; [apply dominates_refl|]. intros x y _ _. unfold atom_law. rewrite map_rev, h_rev. apply Qle_refl.
    + destruct p_ok. eapply dominates_trans; [exact (atoms_ok bit _ _ _ H)|]. apply cell; assumption.
Qed.

Lemma negated others : ones (map negb others) = zeros others /\ zeros (map negb others) = ones others.
Proof. induction others as [|[|] l [A B]]; cbn; unfold ones, zeros in *; cbn; auto. Qed.

Lemma measures_ok l : neighbours p n l ->
  nonneg l /\ exists M, In M measures /\ valid M /\ dominates (pair t (s o) M) l.
Proof.
  intros (bit & others & L & ->). destruct p_ok as [P0 P1]. split; [apply reports_nonneg; assumption|].
  set (i := Nat.min groups (ones others / S c)). pose proof (ones_zeros others) as OZ.
  assert (I : (i <= groups)%nat) by (unfold i; lia).
  assert (K : (i * S c <= ones others)%nat).
  { pose proof (Nat.mul_div_le (ones others) (S c)). unfold i. nia. }
  assert (Z : ((groups - i) * S c <= zeros others)%nat).
  { pose proof (Nat.mul_succ_div_gt (ones others) (S c) ltac:(lia)). pose proof (Nat.mul_div_le n (S c) ltac:(lia)).
    unfold i, groups in *. destruct (n / S c)%nat as [|g]; [cbn; lia|]. cbn [Nat.sub] in *. rewrite Nat.sub_0_r in *.
    destruct (Nat.min_spec g (ones others / S c)) as [[_ ->]|[_ ->]]; nia. }
  destruct (Nat.lt_ge_cases i half) as [H|H]; [exact (cell_ok bit others i L H K Z)|].
  destruct (negated others) as [N N'].
  destruct (cell_ok (negb bit) (map negb others) (groups - i)) as (M & A & V & D).
  - rewrite map_length. exact L.
  - unfold half in *. pose proof (Nat.div_mod groups 2 ltac:(lia)).
    pose proof (Nat.mod_upper_bound groups 2 ltac:(lia)). lia.
  - rewrite N. exact Z.
  - rewrite N'. replace (groups - (groups - i))%nat with i by lia. exact K.
  - exists M. split; [exact A|]. split; [exact V|]. apply mirrored; assumption.
Qed.

Variables low high low' high' : Z.

Definition check (claimed : claim) : bool := certified t o mul measures low high low' high' claimed.

(** Whatever the data sets, and whatever is chosen by what was seen. *)
Theorem check_ok claimed : check claimed = true -> private (neighbours p n) claimed.
Proof. exact (certified_ok t o mul mul_ok measures _ measures_ok low high low' high' claimed). Qed.

End Computation.
