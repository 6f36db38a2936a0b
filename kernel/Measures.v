(** Measures on the powers of b = (t + 1) / t, with whole masses: products, cuts, rounding, suprema. *)

From Kernel Require Export Domination.

Notation "! z" := (inject_Z z) (at level 9, format "! z") : Q_scope.

(** Division, which is a shift if it is by a power of two. *)
Definition quotient (a b : Z) : Z := let k := Z.log2 b in if (Z.shiftl 1 k =? b)%Z then Z.shiftr a k else (a / b)%Z.

Lemma quotient_eq a b : quotient a b = (a / b)%Z.
Proof.
  unfold quotient. destruct (Z.shiftl 1 (Z.log2 b) =? b)%Z eqn:E; [|reflexivity]. apply Z.eqb_eq in E.
  pose proof (Z.log2_nonneg b) as N. rewrite Z.shiftl_1_l in E. rewrite Z.shiftr_div_pow2, E by exact N. reflexivity.
Qed.

Definition over (a b : Z) : Z := (- quotient (- a) b)%Z.

Lemma over_spec a b : (0 < b -> a <= over a b * b)%Z.
Proof. unfold over. rewrite quotient_eq. intro. pose proof (Z.mul_div_le (- a) b H). nia. Qed.

Lemma over_nonneg a b : (0 < b -> 0 <= a -> 0 <= over a b)%Z.
Proof. intros A P. pose proof (over_spec a b A). nia. Qed.

Fixpoint total (ms : list Z) : Z := match ms with [] => 0%Z | m :: l => (m + total l)%Z end.

Fixpoint padd (a b : list Z) : list Z :=
  match a, b with
  | [], _ => b
  | _, [] => a
  | x :: a, y :: b => (x + y)%Z :: padd a b
  end.

Fixpoint pmul (a b : list Z) : list Z :=
  match a with
  | [] => []
  | x :: a => padd (map (Z.mul x) b) (0%Z :: pmul a b)
  end.

Definition whole : list Z -> Prop := Forall (fun m => 0 <= m)%Z.

Lemma total_nonneg ms : whole ms -> (0 <= total ms)%Z.
Proof. induction 1; cbn; lia. Qed.

Lemma padd_whole a : forall b, whole a -> whole b -> whole (padd a b).
Proof.
  induction a as [|x a IH]; intros [|y b] A B; cbn [padd]; auto.
  inversion A; inversion B; subst. constructor; [lia|apply IH; assumption].
Qed.

Lemma pmul_whole a b : whole a -> whole b -> whole (pmul a b).
Proof.
  intros A B. induction A as [|x a X A IH]; cbn [pmul]; [constructor|]. apply padd_whole.
  - apply Forall_map. eapply Forall_impl; [|exact B]. cbn. intros; nia.
  - constructor; [lia|exact IH].
Qed.

Record measure := Measure { first : Z; masses : list Z; lost : Z }.

Definition valid (M : measure) : Prop := whole (masses M) /\ (0 <= lost M)%Z.

Lemma mul_le_l k a b : 0 <= k -> a <= b -> k * a <= k * b.
Proof. intros. nra. Qed.

Section Grid.

Variable t : positive.

Definition r : Q := Zpos t # (t + 1).

Lemma r_pos : 0 < r.
Proof. unfold r, Qlt; cbn; lia. Qed.

Lemma r_below_1 : r < 1.
Proof. unfold r, Qlt; cbn. lia. Qed.

Lemma r_times : r * !(Zpos (t + 1)) == !(Zpos t).
Proof. unfold r, Qeq, Qmult, inject_Z; cbn. lia. Qed.

Lemma power_pos k : 0 < r ^ k.
Proof. apply Qpower_0_lt, r_pos. Qed.

Lemma power_sum j k : r ^ (j + k) == r ^ j * r ^ k.
Proof. apply Qpower_plus. pose proof r_pos. lra. Qed.

Lemma power_next k : r ^ (k + 1) == r ^ k * r.
Proof. rewrite power_sum. reflexivity. Qed.

(** What masses at c, c r, c r^2, ... add to a profile. *)
Fixpoint v (c : Q) (ms : list Z) (x y : Q) : Q :=
  match ms with
  | [] => 0
  | m :: l => !m * pos (x - y * c) + v (c * r) l x y
  end.

Lemma v_eq ms : forall c c' x x' y y', c == c' -> x == x' -> y == y' -> v c ms x y == v c' ms x' y'.
Proof.
  induction ms as [|m l IH]; intros; cbn [v]; [reflexivity|].
  rewrite (IH (c * r) (c' * r) x x' y y') by (assumption || (rewrite H; reflexivity)).
  rewrite H, H0, H1. reflexivity.
Qed.

#[local] Instance v_proper : Proper (Qeq ==> eq ==> Qeq ==> Qeq ==> Qeq) v.
Proof. intros c c' C ms ms' <- x x' X y y' Y. apply v_eq; assumption. Qed.

Definition value (M : measure) (x y : Q) : Q := !(lost M) * x + v (r ^ first M) (masses M) x y.

Fixpoint grid (s c : Q) (ms : list Z) : law :=
  match ms with
  | [] => []
  | m :: l => (s * !m, s * !m * c) :: grid s (c * r) l
  end.

(** The pair that a measure stands for, in units of s. *)
Definition pair (s : Q) (M : measure) : law := (s * !(lost M), 0) :: grid s (r ^ first M) (masses M).

Lemma nonneg_Q m : (0 <= m)%Z -> 0 <= !m.
Proof. intro. change 0 with (!0). rewrite <- Zle_Qle. assumption. Qed.

Lemma h_grid s ms : 0 <= s -> whole ms -> forall c x y, h (grid s c ms) x y == s * v c ms x y.
Proof.
  intros S W. induction W as [|m l A W IH]; intros c x y; cbn [grid h v]; [ring|].
  rewrite IH. apply nonneg_Q in A.
  setoid_replace (x * (s * !m) - y * (s * !m * c)) with ((s * !m) * (x - y * c)) by ring.
  rewrite pos_scale by nra. ring.
Qed.

Lemma h_pair s M x y : 0 <= s -> valid M -> 0 <= x -> h (pair s M) x y == s * value M x y.
Proof.
  intros S [W L] X. unfold pair, value. cbn [h]. rewrite h_grid by assumption. apply nonneg_Q in L.
  setoid_replace (x * (s * !(lost M)) - y * 0) with ((s * !(lost M)) * x) by ring.
  rewrite pos_scale by nra. positive; [setoid_replace x with 0 by lra|]; ring.
Qed.

Lemma grid_nonneg s ms : 0 <= s -> whole ms -> forall c, 0 <= c -> nonneg (grid s c ms).
Proof.
  intros S W. induction W as [|m l A W IH]; intros c C; cbn [grid]; constructor; cbn [fst snd].
  - apply nonneg_Q in A. split; [nra|]. apply Qmult_le_0_compat; nra.
  - apply IH. pose proof r_pos. nra.
Qed.

Lemma pair_nonneg s M : 0 <= s -> valid M -> nonneg (pair s M).
Proof.
  intros S [W L]. constructor; cbn [fst snd].
  - apply nonneg_Q in L. split; nra.
  - apply grid_nonneg; auto. pose proof (power_pos (first M)). lra.
Qed.

(** ** Products *)

Lemma v_padd a : forall b c x y, v c (padd a b) x y == v c a x y + v c b x y.
Proof.
  induction a as [|m a IH]; intros [|k b] c x y; cbn [padd v]; try ring.
  rewrite IH, inject_Z_plus. ring.
Qed.

Lemma v_map k b : forall c x y, v c (map (Z.mul k) b) x y == !k * v c b x y.
Proof.
  induction b as [|m b IH]; intros c x y; cbn [map v]; [ring|]. rewrite IH, inject_Z_mult. ring.
Qed.

Lemma v_shift ms : forall c d x y, v c ms x (y * d) == v (d * c) ms x y.
Proof.
  induction ms as [|m l IH]; intros c d x y; cbn [v]; [reflexivity|].
  rewrite IH, <- Qmult_assoc. rewrite (Qmult_assoc d c r). reflexivity.
Qed.

Lemma v_total ms : forall c x, 0 <= x -> v c ms x 0 == !(total ms) * x.
Proof.
  induction ms as [|m l IH]; intros c x X; cbn [v total]; [ring|].
  rewrite IH, inject_Z_plus by assumption. setoid_replace (x - 0 * c) with x by ring.
  positive; [setoid_replace x with 0 by lra|]; ring.
Qed.

Lemma h_grid_times s g p : 0 <= s -> whole p -> forall c x y,
  h (times (grid s c p) g) x y == s * fold_right (fun m w => fun c => !m * h g x (y * c) + w (c * r)) (fun _ => 0) p c.
Proof.
  intros S W. induction W as [|m l A W IH]; intros c x y; cbn [grid fold_right]; [cbn; ring|].
  rewrite h_times_step, IH. apply nonneg_Q in A.
  setoid_replace (x * (s * !m)) with ((s * !m) * x) by ring.
  setoid_replace (y * (s * !m * c)) with ((s * !m) * (y * c)) by ring.
  rewrite h_homogeneous by nra. ring.
Qed.

Lemma fold_eq (u u' : Q -> Q) p : forall c c', c == c' -> (forall d d', d == d' -> u d == u' d') ->
  fold_right (fun m w => fun c => !m * u c + w (c * r)) (fun _ => 0) p c ==
  fold_right (fun m w => fun c => !m * u' c + w (c * r)) (fun _ => 0) p c'.
Proof.
  induction p as [|m p IH]; intros c c' C E; cbn [fold_right]; [reflexivity|].
  rewrite (E c c' C). rewrite (IH (c * r) (c' * r)); [reflexivity|rewrite C; reflexivity|assumption].
Qed.

Lemma fold_pmul k q x y c' p : forall c,
  fold_right (fun m w => fun c => !m * (!k * x + v (c * c') q x y) + w (c * r)) (fun _ => 0) p c ==
  !(k * total p) * x + v (c * c') (pmul p q) x y.
Proof.
  induction p as [|m p IH]; intros c; cbn [fold_right pmul total].
  - rewrite Z.mul_0_r. cbn [v]. ring.
  - rewrite IH, v_padd, v_map. cbn [v].
    setoid_replace (c * r * c') with (c * c' * r) by ring.
    rewrite !inject_Z_mult, inject_Z_plus. ring.
Qed.

Definition product_with (mul : list Z -> list Z -> list Z) (A B : measure) : measure :=
  Measure (first A + first B) (mul (masses A) (masses B))
    (lost A * (lost B + total (masses B)) + lost B * total (masses A)).

Definition product := product_with pmul.

Lemma product_valid A B : valid A -> valid B -> valid (product A B).
Proof.
  intros [W L] [W' L']. split; cbn [product product_with masses lost]; [apply pmul_whole; assumption|].
  apply total_nonneg in W, W'. nia.
Qed.

Lemma product_value s s' A B x y : 0 <= s -> 0 <= s' -> valid A -> valid B -> 0 <= x ->
  h (times (pair s A) (pair s' B)) x y == s * s' * value (product A B) x y.
Proof.
  intros S S' VA VB X. destruct VA as [WA LA]. unfold pair at 1. rewrite h_times_step, h_grid_times by assumption.
  rewrite (fold_eq _ (fun c => s' * (!(lost B) * x + v (c * r ^ first B) (masses B) x y)) _
    (r ^ first A) (r ^ first A)).
  2: reflexivity.
  2: { intros d d' E. rewrite h_pair by assumption. unfold value. rewrite v_shift, E. reflexivity. }
  assert (F : forall c,
    fold_right (fun m w c => !m * (s' * (!(lost B) * x + v (c * r ^ first B) (masses B) x y)) + w (c * r)) (fun _ => 0)
      (masses A) c ==
    s' * fold_right (fun m w c => !m * (!(lost B) * x + v (c * r ^ first B) (masses B) x y) + w (c * r)) (fun _ => 0)
      (masses A) c).
  { induction (masses A) as [|m p IH]; intro c; cbn [fold_right]; [ring|].
    inversion WA; subst. rewrite IH by assumption. ring. }
  rewrite F, fold_pmul.
  setoid_replace (x * (s * !(lost A))) with ((s * !(lost A)) * x) by ring.
  setoid_replace (y * 0) with ((s * !(lost A)) * 0) by ring.
  apply nonneg_Q in LA. rewrite h_homogeneous by nra. rewrite h_pair by assumption.
  unfold value, product, product_with. cbn [first masses lost]. rewrite v_total by assumption.
  rewrite power_sum, !inject_Z_plus, !inject_Z_mult, inject_Z_plus. ring.
Qed.

(** ** Rounding and cuts: all may only grow *)

Definition below (M N : measure) : Prop := forall x y, 0 <= x -> 0 <= y -> value M x y <= value N x y.

Definition rounded (o : Z) (M : measure) : measure :=
  Measure (first M) (map (fun m => over m o) (masses M)) (over (lost M) o).

Lemma rounded_valid o M : (0 < o)%Z -> valid M -> valid (rounded o M).
Proof.
  intros O [W L]. split; cbn; [|apply over_nonneg; assumption].
  apply Forall_map. eapply Forall_impl; [|exact W]. cbn. intros. apply over_nonneg; assumption.
Qed.

Lemma over_Q m o : (0 < o)%Z -> !m <= !o * !(over m o).
Proof. intro O. rewrite <- inject_Z_mult, <- Zle_Qle. pose proof (over_spec m o O). lia. Qed.

Lemma rounded_value o M x y : (0 < o)%Z -> 0 <= x -> value M x y <= !o * value (rounded o M) x y.
Proof.
  intros O X. unfold value, rounded; cbn [first masses lost]. pose proof (over_Q (lost M) o O).
  assert (forall c, v c (masses M) x y <= !o * v c (map (fun m => over m o) (masses M)) x y).
  { induction (masses M) as [|m l IH]; intro c; cbn [map v]; [lra|]. specialize (IH (c * r)).
    pose proof (Qmult_le_compat_r _ _ _ (over_Q m o O) (pos_nonneg (x - y * c))). lra. }
  specialize (H0 (r ^ first M)). pose proof (Qmult_le_compat_r _ _ _ H X). lra.
Qed.

Definition push (M : measure) : measure :=
  Measure (first M + 1) (match masses M with a :: b :: l => (a + b)%Z :: l | l => l end) (lost M).

Lemma push_valid M : valid M -> valid (push M).
Proof.
  intros [W L]. split; [|exact L]. destruct M as [k [|a [|b l]] i]; cbn in *; auto.
  inversion W as [|? ? A W']; inversion W'; subst. constructor; [lia|assumption].
Qed.

Lemma push_below M : valid M -> below M (push M).
Proof.
  intros [W L] x y X Y. unfold value, push. destruct M as [k ms i]. cbn [first masses lost] in *.
  rewrite power_next. pose proof (power_pos k). pose proof r_pos. pose proof r_below_1.
  assert (P : pos (x - y * r ^ k) <= pos (x - y * (r ^ k * r))).
  { apply pos_mono. assert (r ^ k * r <= r ^ k) by nra. nra. }
  set (u := pos (x - y * r ^ k)) in *. set (w := pos (x - y * (r ^ k * r))) in *.
  destruct ms as [|a [|b l]]; cbn [v]; fold u; fold w; [lra| |]; inversion W as [|? ? A W']; subst; apply nonneg_Q in A.
  - nra.
  - rewrite inject_Z_plus. nra.
Qed.

Definition raised (low : Z) (M : measure) : measure := Nat.iter (Z.to_nat (low - first M)) push M.

Lemma raised_ok low M : valid M -> valid (raised low M) /\ below M (raised low M).
Proof.
  intro V. unfold raised. induction (Z.to_nat (low - first M)) as [|n [IHv IH]]; cbn [Nat.iter].
  - split; [exact V|]. intros x y _ _. apply Qle_refl.
  - split; [apply push_valid; assumption|]. intros x y X Y.
    exact (Qle_trans _ _ _ (IH x y X Y) (push_below _ IHv x y X Y)).
Qed.

Definition lowered (high : Z) (M : measure) : measure :=
  let n := Z.to_nat (high + 1 - first M) in
  Measure (first M) (firstn n (masses M)) (lost M + total (skipn n (masses M))).

Lemma v_le_total ms : whole ms -> forall c x y, 0 <= c -> 0 <= x -> 0 <= y -> v c ms x y <= !(total ms) * x.
Proof.
  induction 1 as [|m l A W IH]; intros c x y C X Y; cbn [v total]; [change (!0) with 0; lra|]. apply nonneg_Q in A.
  pose proof r_pos. assert (0 <= c * r) by nra. specialize (IH (c * r) x y H0 X Y). rewrite inject_Z_plus.
  assert (0 <= y * c) by nra. assert (P : pos (x - y * c) <= x) by (positive; lra).
  pose proof (mul_le_l _ _ _ A P). lra.
Qed.

Lemma lowered_ok high M : valid M -> valid (lowered high M) /\ below M (lowered high M).
Proof.
  intros [W L]. unfold lowered. set (n := Z.to_nat _). clearbody n.
  destruct M as [k ms i]; cbn [first masses lost] in *.
  assert (D : whole (firstn n ms) /\ whole (skipn n ms))
    by (rewrite <- (firstn_skipn n ms) in W; apply Forall_app in W; exact W).
  destruct D as [F S]. split.
  - split; cbn [masses lost]; [exact F|]. apply total_nonneg in S. lia.
  - intros x y X Y. unfold value; cbn [first masses lost]. rewrite inject_Z_plus.
    assert (forall c, 0 <= c -> v c ms x y <= v c (firstn n ms) x y + !(total (skipn n ms)) * x).
    { clear L F S. revert n. induction W as [|m l A W IH]; intros n c C.
      - destruct n; cbn [firstn skipn v total]; change (!0) with 0; lra.
      - destruct n.
        + pose proof (v_le_total (m :: l) (Forall_cons _ A W) c x y C X Y). cbn [firstn skipn]. cbn [v] in *. lra.
        + cbn [firstn skipn v]. pose proof r_pos. assert (0 <= c * r) by nra. specialize (IH n (c * r) H0). lra. }
    pose proof (power_pos k). specialize (H (r ^ k)). lra.
Qed.

(** ** The value at a node *)

Definition down (z : Z) : Z := quotient (z * Zpos t) (Zpos (t + 1)).
Definition up (z : Z) : Z := over (z * Zpos t) (Zpos (t + 1)).

Lemma down_spec z : !(down z) <= !z * r.
Proof.
  assert (!(down z) * !(Zpos (t + 1)) <= !z * r * !(Zpos (t + 1))).
  { rewrite <- Qmult_assoc, r_times, <- !inject_Z_mult, <- Zle_Qle. unfold down. rewrite quotient_eq.
    pose proof (Z.mul_div_le (z * Zpos t) (Zpos (t + 1))). lia. }
  apply Qmult_le_r in H; [assumption|]. reflexivity.
Qed.

Lemma up_spec z : !z * r <= !(up z).
Proof.
  assert (!z * r * !(Zpos (t + 1)) <= !(up z) * !(Zpos (t + 1))).
  { rewrite <- Qmult_assoc, r_times, <- !inject_Z_mult, <- Zle_Qle. unfold up.
    apply over_spec. lia. }
  apply Qmult_le_r in H; [assumption|]. reflexivity.
Qed.

(** The sum of m_i r^i, and bounds on it. *)
Fixpoint moment (ms : list Z) : Q := match ms with [] => 0 | m :: l => !m + r * moment l end.
Fixpoint moment_down (ms : list Z) : Z := match ms with [] => 0%Z | m :: l => (m + down (moment_down l))%Z end.
Fixpoint moment_up (ms : list Z) : Z := match ms with [] => 0%Z | m :: l => (m + up (moment_up l))%Z end.

Lemma moment_bounds ms : !(moment_down ms) <= moment ms /\ moment ms <= !(moment_up ms).
Proof.
  induction ms as [|m l [A B]]; cbn [moment moment_down moment_up]; [split; change (!0) with 0; lra|].
  rewrite !inject_Z_plus.
  pose proof (down_spec (moment_down l)). pose proof (up_spec (moment_up l)). pose proof r_pos. split; nra.
Qed.

Lemma v_linear ms : forall c x y, 0 <= c -> 0 <= y -> y * c <= x ->
  v c ms x y == !(total ms) * x - y * c * moment ms.
Proof.
  induction ms as [|m l IH]; intros c x y C Y X; cbn [v total moment]; [change (!0) with 0; ring|].
  pose proof r_pos. pose proof r_below_1. assert (0 <= c * r) by nra. assert (c * r <= c) by nra.
  rewrite IH by (assumption || nra). rewrite inject_Z_plus.
  assert (E : pos (x - y * c) == x - y * c) by (positive; lra). rewrite E. ring.
Qed.

Lemma v_zero ms : forall c x y, 0 <= y -> 0 <= c -> x <= y * c * 1 -> forall m, v c (m :: ms) x y == v (c * r) ms x y.
Proof. intros c x y Y C X m. cbn [v]. assert (E : pos (x - y * c) == 0) by (positive; lra). rewrite E. ring. Qed.

(** An upper bound on the value at x = 1, y = b^k, for a measure that begins at node k. *)
Definition delta (M : measure) : Z := (lost M + total (masses M) - moment_down (masses M))%Z.

Lemma delta_bounds M : valid M -> value M 1 (/ (r ^ first M)) <= !(delta M).
Proof.
  intros [W L]. unfold value, delta. pose proof (power_pos (first M)).
  assert (E : / (r ^ first M) * r ^ first M == 1) by (rewrite Qmult_comm; apply Qmult_inv_r; lra).
  rewrite v_linear; [|lra|apply Qlt_le_weak, Qinv_lt_0_compat; assumption|rewrite E; lra].
  rewrite E. destruct (moment_bounds (masses M)) as [A _].
  unfold Z.sub. rewrite !inject_Z_plus, inject_Z_opp. lra.
Qed.

End Grid.
