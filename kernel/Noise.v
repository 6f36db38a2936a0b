(** A sum with noise: from the law of the noise to delta.

    The noise is j with probability f j, where f (j + 1) d (j + 1) = f j (a + b j). These are the Poisson law (b = 0: of
    mean a / d), the negative binomial laws (of ratio b / d and shape a / b; of shape 1: geometric) and the binomial
    laws (b < 0: of - a / b trials, with odds - b / d). *)

From Kernel Require Export Steps.

Fixpoint sum (f : nat -> Q) (from n : nat) : Q := match n with 0%nat => 0 | S n => f from + sum f (S from) n end.

Lemma sum_last f n : forall j, sum f j (S n) == sum f j n + f (j + n)%nat.
Proof.
  induction n as [|n IH]; intro j; [cbn [sum]; rewrite Nat.add_0_r; ring|].
  change (sum f j (S (S n))) with (f j + sum f (S j) (S n)). rewrite IH. cbn [sum].
  replace (j + S n)%nat with (S j + n)%nat by lia. ring.
Qed.

Lemma sum_split f m n : forall j, sum f j (m + n) == sum f j m + sum f (j + m)%nat n.
Proof.
  induction m as [|m IH]; intro j; cbn [plus sum]; [rewrite Nat.add_0_r; ring|]. rewrite IH.
  replace (S j + m)%nat with (j + S m)%nat by lia. ring.
Qed.

Lemma sum_nonneg f n : (forall j, 0 <= f j) -> forall j, 0 <= sum f j n.
Proof. intro F. induction n as [|n IH]; intro j; cbn [sum]; [lra|]. specialize (F j). specialize (IH (S j)). lra. Qed.

Section Noise.

Variables t o : positive.
Variables a b d : Z.

Notation O := (Zpos o) (only parsing).
Notation N j := (Z.of_nat j) (only parsing).

Definition noise (f : nat -> Q) : Prop :=
  (forall j, 0 <= f j) /\ (forall j, f (S j) * !(d * N (S j)) == f j * !(a + b * N j)) /\ forall n, sum f 0 n <= 1.

(** What is seen if the sum is one more, and if not: the noise is j - 1 or j. *)
Definition before (f : nat -> Q) (j : nat) : Q := match j with 0%nat => 0 | S i => f i end.

Definition pairs (P P' : nat -> Q) (j n : nat) : law := map (fun i => (P i, P' i)) (seq j n).

(** A sum with such noise, of which counts below n are seen (and so any event, in the limit): the first law is that of
    the larger sum, or that of the smaller one; or it may be either. *)
Definition noisy_sum_in (up : bool) (l : law) : Prop :=
  exists f n, noise f /\ l = if up then pairs (before f) f 0 n else pairs f (before f) 0 n.

Definition noisy_sum (l : law) : Prop := exists up, noisy_sum_in up l.

(** ** Upper and lower bounds on all f j / f mode, in units of 1 / top *)

Variable mode : nat.
Variable top : positive.
Variable length_ : nat.  (* of the counts after the mode *)

Definition gain (j : nat) : Z := Z.max 0 (a + b * N j).
Definition loss (j : nat) : Z := d * N (S j).

Fixpoint forth (n j : nat) (u l : Z) : list (Z * Z) :=
  match n with
  | 0%nat => []
  | S n => let u' := over (gain j * u) (loss j) in let l' := (gain j * l / loss j)%Z in (u', l') :: forth n (S j) u' l'
  end.

Fixpoint back (j : nat) (u l : Z) (found : list (Z * Z)) : list (Z * Z) :=
  match j with
  | 0%nat => (u, l) :: found
  | S i => back i (over (loss i * u) (gain i)) (loss i * l / gain i) ((u, l) :: found)
  end.

Definition found : list (Z * Z) := back mode (Zpos top) (Zpos top) (forth length_ mode (Zpos top) (Zpos top)).

Definition last_count : nat := mode + length_.

Definition tail_gain : Z := Z.max (gain last_count) (b * N (S last_count)).

Definition tail : Z := over (fst (last found (0, 0)%Z) * tail_gain) (loss last_count - tail_gain).

Fixpoint seconds (ul : list (Z * Z)) : Z := match ul with [] => 0%Z | (_, l) :: r => (l + seconds r)%Z end.

Definition sound : bool :=
  (0 <? d)%Z && forallb (fun i => 0 <? a + b * N i)%Z (seq 0 mode) &&
  (tail_gain <? loss last_count)%Z && (O <=? seconds found)%Z.

Variable f : nat -> Q.
Hypothesis F : noise f.
Hypothesis D : (0 < d)%Z.
Hypothesis A : forall i, (i < mode)%nat -> (0 < a + b * N i)%Z.

Definition near (j : nat) (ul : Z * Z) : Prop :=
  (0 <= fst ul)%Z /\ (0 <= snd ul)%Z /\ !(snd ul) * f mode <= f j * !(Zpos top) /\
    f j * !(Zpos top) <= !(fst ul) * f mode.

Fixpoint near_from (j : nat) (uls : list (Z * Z)) : Prop :=
  match uls with [] => True | ul :: r => near j ul /\ near_from (S j) r end.

Lemma f_nonneg j : 0 <= f j.
Proof. apply F. Qed.

Lemma loss_pos j : (0 < loss j)%Z.
Proof. unfold loss. lia. Qed.

Lemma step_up j : f (S j) * !(loss j) <= f j * !(gain j).
Proof.
  unfold loss. destruct F as (P & R & _). rewrite (R j). specialize (P j).
  assert (E : !(a + b * N j) <= !(gain j)) by (apply le_Q; unfold gain; lia). nra.
Qed.

Lemma step_down j : f j * !(gain j) <= f (S j) * !(loss j).
Proof.
  unfold loss. destruct F as (P & R & _). rewrite (R j). pose proof (P j). unfold gain.
  destruct (Z.max_spec 0 (a + b * N j)) as [[_ ->]|[L ->]]; [lra|]. change (!0) with 0.
  rewrite <- R. pose proof (P (S j)). assert (0 <= !(d * N (S j))) by (apply nonneg_Q; lia). nra.
Qed.

(** If f' k <= f g, then u k / g bounds f' from above; and l k / g from below. *)
Lemma up_ratio u k g x y z : (0 < g)%Z -> 0 <= !k -> x * !g <= y * !k -> y <= !u * z ->
  x <= !(over (k * u) g) * z \/ z < 0.
Proof.
  intros G K H U. destruct (Qlt_le_dec z 0) as [|Z0]; [auto|left].
  pose proof (le_Q _ _ (over_spec (k * u) g G)) as S. rewrite !inject_Z_mult in S.
  assert (G' : 0 < !g) by (unfold Qlt; cbn; lia). apply (Qmult_le_r _ _ (!g) G').
  pose proof (mul_le_l _ _ _ K U). pose proof (Qmult_le_compat_r _ _ z S Z0). lra.
Qed.

Lemma down_ratio l k g x y z : (0 < g)%Z -> 0 <= !k -> y * !k <= x * !g -> !l * z <= y -> 0 <= z ->
  !(k * l / g) * z <= x.
Proof.
  intros G K H U Z0. assert (S : (k * l / g * g <= k * l)%Z) by (pose proof (Z.mul_div_le (k * l) g G); lia).
  apply le_Q in S. rewrite !inject_Z_mult in S.
  assert (G' : 0 < !g) by (unfold Qlt; cbn; lia). apply (Qmult_le_r _ _ (!g) G').
  pose proof (mul_le_l _ _ _ K U). pose proof (Qmult_le_compat_r _ _ z S Z0). lra.
Qed.

Lemma near_step j j' k g ul : (0 < g)%Z -> (0 <= k)%Z -> f j' * !g <= f j * !k -> f j * !k <= f j' * !g ->
  near j ul -> near j' (over (k * fst ul) g, k * snd ul / g)%Z.
Proof.
  intros G K H H' (U & L & B & C). pose proof (f_nonneg mode) as M. pose proof (nonneg_Q k K) as K'.
  assert (T : 0 < !(Zpos top)) by reflexivity. unfold near; cbn [fst snd]. repeat split.
  - apply over_nonneg; nia.
  - apply Z.div_pos; nia.
  - apply (down_ratio _ k g _ (f j * !(Zpos top))); try assumption. nra.
  - destruct (up_ratio (fst ul) k g (f j' * !(Zpos top)) (f j * !(Zpos top)) (f mode)); try assumption; [nra|lra].
Qed.

Lemma forth_ok n : forall j u l, near j (u, l) -> near_from (S j) (forth n j u l).
Proof.
  induction n as [|n IH]; intros j u l H; cbn [forth near_from]; [exact I|].
  assert (H' : near (S j) (over (gain j * u) (loss j), gain j * l / loss j)%Z).
  { apply (near_step j _ (gain j) (loss j) (u, l));
      [apply loss_pos|unfold gain; lia|apply step_up|apply step_down|exact H]. }
  split; [exact H'|]. apply IH, H'.
Qed.

Lemma back_ok j : forall u l r, (j <= mode)%nat -> near j (u, l) -> near_from (S j) r -> near_from 0 (back j u l r).
Proof.
  induction j as [|i IH]; intros u l r J H R; cbn [back]; [exact (conj H R)|].
  assert (G : (0 < gain i)%Z) by (specialize (A i ltac:(lia)); unfold gain; lia).
  apply IH; [lia| |exact (conj H R)].
  apply (near_step (S i) _ (loss i) (gain i) (u, l));
    [exact G|pose proof (loss_pos i); lia|apply step_down|apply step_up|exact H].
Qed.

Lemma found_ok : near_from 0 found.
Proof.
  assert (H : near mode (Zpos top, Zpos top)) by (unfold near; cbn [fst snd]; repeat split; try lia; lra).
  apply back_ok; [lia|exact H|]. apply forth_ok, H.
Qed.

Lemma forth_length n : forall j u l, length (forth n j u l) = n.
Proof. induction n as [|n IH]; intros; cbn [forth length]; auto. Qed.

Lemma back_length j : forall u l r, length (back j u l r) = (S j + length r)%nat.
Proof. induction j as [|j IH]; intros; cbn [back length]; [reflexivity|]. rewrite IH. cbn [length]. lia. Qed.

Lemma found_length : length found = S last_count.
Proof. unfold found, last_count. rewrite back_length, forth_length. reflexivity. Qed.

Lemma near_nth uls : forall i j, (i < length uls)%nat -> near_from j uls -> near (j + i) (nth i uls (0, 0)%Z).
Proof.
  induction uls as [|ul r IH]; intros i j L H; cbn [length] in L; [lia|]. destruct H as [H R].
  destruct i as [|i]; cbn [nth]; [rewrite Nat.add_0_r; exact H|]. replace (j + S i)%nat with (S j + i)%nat by lia.
  apply IH; [lia|exact R].
Qed.

Lemma last_nth (l : list (Z * Z)) z : last l z = nth (length l - 1) l z.
Proof.
  induction l as [|x [|y l] IH]; [reflexivity|reflexivity|].
  change (last (x :: y :: l) z) with (last (y :: l) z). rewrite IH.
  cbn [length Nat.sub]. rewrite Nat.sub_0_r. reflexivity.
Qed.

Hypothesis TG : (tail_gain < loss last_count)%Z.

Lemma tail_ok n : sum f (S last_count) n * !(Zpos top) <= !tail * f mode.
Proof.
  set (J := last_count) in *. set (x := tail_gain) in *. set (y := loss J) in *.
  assert (X : (0 <= x)%Z) by (unfold x, tail_gain, gain; lia).
  assert (step : forall i, f (S (J + i)) * !y <= f (J + i)%nat * !x).
  { intro i. pose proof (f_nonneg (J + i)). pose proof (f_nonneg (S (J + i))).
    destruct F as (_ & R & _). specialize (R (J + i)%nat).
    assert (E : (y * (a + b * N (J + i)) <= x * (d * N (S (J + i))))%Z).
    { assert (E1 : (a + b * N J <= x)%Z) by (unfold x, tail_gain, gain; fold J; lia).
      assert (E2 : (b * N (S J) <= x)%Z) by (unfold x, tail_gain; fold J; lia).
      unfold y, loss. replace (a + b * N (J + i))%Z with ((a + b * N J) + b * N i)%Z by lia.
      assert (E3 : (N (S J) * ((a + b * N J) + b * N i) <= x * N (S (J + i)))%Z) by nia. nia. }
    apply le_Q in E. rewrite !inject_Z_mult in E. rewrite !inject_Z_mult in R. set (g := !d * !(N (S (J + i)))) in *.
    assert (G : 0 < g) by (unfold g; rewrite <- inject_Z_mult; unfold Qlt; cbn; lia). clearbody g.
    apply (Qmult_le_r _ _ _ G). pose proof (mul_le_l _ _ _ H E).
    setoid_replace (f (S (J + i)) * !y * g) with (!y * (f (S (J + i)) * g)) by ring. rewrite R. lra. }
  assert (series : sum f (S J) n * !(y - x) <= f J * !x - f (J + n)%nat * !x).
  { unfold Z.sub. rewrite inject_Z_plus, inject_Z_opp. induction n as [|n IH]; [cbn [sum]; rewrite Nat.add_0_r; lra|].
    rewrite sum_last. specialize (step n). replace (J + S n)%nat with (S (J + n)) by lia.
    change (S J + n)%nat with (S (J + n)). lra. }
  assert (U : near J (last found (0, 0)%Z)).
  { rewrite last_nth, found_length. cbn [Nat.sub]. rewrite Nat.sub_0_r.
    apply (near_nth found J 0%nat); [rewrite found_length; fold J; lia|exact found_ok]. }
  destruct U as (_ & _ & _ & U). unfold tail. fold J x y. set (u := fst (last found (0, 0)%Z)) in *.
  pose proof (le_Q _ _ (over_spec (u * x) (y - x) ltac:(lia))) as S. rewrite !inject_Z_mult in S.
  assert (G : 0 < !(y - x)) by (unfold Qlt; cbn; lia). apply (Qmult_le_r _ _ _ G).
  pose proof (f_nonneg mode) as M. pose proof (Qmult_le_compat_r _ _ _ S M). pose proof (nonneg_Q x X) as X'.
  pose proof (mul_le_l _ _ _ X' U). pose proof (f_nonneg (J + n)). assert (0 <= f (J + n)%nat * !x) by nra.
  assert (T : 0 <= !(Zpos top)) by (apply nonneg_Q; lia).
  assert (series' : sum f (Datatypes.S J) n * !(y - x) <= f J * !x) by lra.
  pose proof (Qmult_le_compat_r _ _ _ series' T). lra.
Qed.

Hypothesis SUM : (O <= seconds found)%Z.

Lemma unit_small : f mode * !O <= !(Zpos top).
Proof.
  assert (G : forall uls j, near_from j uls -> !(seconds uls) * f mode <= sum f j (length uls) * !(Zpos top)).
  { induction uls as [|[u l] r IH]; intros j H; cbn [seconds length sum]; [change (!0) with 0; lra|].
    destruct H as [(_ & _ & H & _) R]. cbn [snd] in H. specialize (IH (S j) R). rewrite inject_Z_plus. lra. }
  pose proof (G found 0%nat found_ok) as H. destruct F as (P & _ & S1). specialize (S1 (length found)).
  pose proof (le_Q _ _ SUM) as E. pose proof (Qmult_le_compat_r _ _ _ E (f_nonneg mode)).
  assert (T : 0 <= !(Zpos top)) by (apply nonneg_Q; lia). pose proof (Qmult_le_compat_r _ _ _ S1 T). lra.
Qed.

(** ** The pair, in both directions *)

Fixpoint ups (u : Z) (uls : list (Z * Z)) : list (Z * Z) :=
  match uls with [] => [(u, 0%Z)] | (u', l) :: r => (u, l) :: ups u' r end.

Fixpoint downs (l : Z) (uls : list (Z * Z)) : list (Z * Z) :=
  match uls with [] => [] | (u, l') :: r => (u, l) :: downs l' r end.

Section Pair.

Variables P P' : nat -> Q.
Hypothesis PN : forall j, 0 <= P j.
Hypothesis PN' : forall j, 0 <= P' j.

Fixpoint bound_from (j : nat) (atoms : list (Z * Z)) : Prop :=
  match atoms with
  | [] => True
  | (p, q) :: r => (0 <= p /\ 0 <= q)%Z /\ P j * !(Zpos top) <= !p * f mode /\ !q * f mode <= P' j * !(Zpos top) /\
    bound_from (S j) r
  end.

Lemma h_sum x y n : 0 <= x -> 0 <= y -> forall j, h (pairs P P' j n) x y <= x * sum P j n.
Proof.
  intros X Y. induction n as [|n IH]; intro j; cbn [pairs seq map h sum]; [lra|]. specialize (IH (S j)).
  unfold pairs in IH.
  pose proof (PN j). pose proof (PN' j). assert (0 <= x * P j) by nra. assert (0 <= y * P' j) by nra. positive; lra.
Qed.

Lemma pairs_ok x y n atoms rest : 0 <= x -> 0 <= y -> forall j, bound_from j atoms -> (0 <= rest)%Z ->
  (forall m, sum P (j + length atoms) m * !(Zpos top) <= !rest * f mode) ->
  h (pairs P P' j n) x y <= h (atom_law o (atoms ++ [(rest, 0%Z)])) x y.
Proof.
  intros X Y. pose proof (s_pos o) as SP. pose proof unit_small as US. pose proof (s_times o) as ST.
  pose proof (f_nonneg mode) as M. assert (T : 0 < !(Zpos top)) by reflexivity.
  assert (scaled : forall v w, 0 <= w -> v * !(Zpos top) <= w * f mode -> v <= s o * w).
  { intros v w W H. apply (Qmult_le_r _ _ _ T). pose proof (mul_le_l _ _ _ W US) as H1.
    pose proof (mul_le_l _ _ _ (Qlt_le_weak _ _ SP) H1) as H2.
    assert (E : s o * (w * (f mode * !O)) == w * f mode)
      by (setoid_replace (s o * (w * (f mode * !O))) with (w * f mode * (s o * !O)) by ring; rewrite ST; ring).
    rewrite E in H2. lra. }
  revert n. induction atoms as [|[p q] r IH]; intros n j B R TR.
  - cbn [app atom_law map h fst snd length] in *. rewrite Nat.add_0_r in TR. pose proof (h_sum x y n X Y j) as H.
    pose proof (scaled _ _ (nonneg_Q _ R) (TR n)) as H1. pose proof (mul_le_l _ _ _ X H1). change (!0) with 0.
    positive; lra.
  - destruct n as [|n]; [apply h_nonneg|]. destruct B as ([P0 Q0] & B1 & B2 & B3).
    assert (TR' : forall m, sum P (S j + length r) m * !(Zpos top) <= !rest * f mode).
    { intro m. specialize (TR m). cbn [length] in TR.
      replace (j + S (length r))%nat with (S j + length r)%nat in TR by lia. exact TR. }
    specialize (IH n (S j) B3 R TR'). cbn [pairs seq map h app atom_law fst snd]. unfold pairs, atom_law in IH.
    assert (H : pos (x * P j - y * P' j) <= pos (x * (s o * !p) - y * (s o * !q))); [|lra].
    setoid_replace (x * (s o * !p) - y * (s o * !q)) with (s o * (x * !p - y * !q)) by ring.
    rewrite pos_scale by lra. apply scaled; [apply pos_nonneg|].
    pose proof (mul_le_l _ _ _ X B1). pose proof (mul_le_l _ _ _ Y B2).
    assert (W : (x * P j - y * P' j) * !(Zpos top) <= (x * !p - y * !q) * f mode) by lra.
    destruct (pos_cases (x * P j - y * P' j)) as [[_ ->]|[L ->]]; [pose proof (pos_nonneg (x * !p - y * !q)); nra|].
    assert (K : x * !p - y * !q <= pos (x * !p - y * !q)) by (positive; lra).
    pose proof (Qmult_le_compat_r _ _ _ K M). lra.
Qed.

End Pair.

Lemma ups_ok uls : forall j u, near_from j uls -> (0 <= u)%Z -> before f j * !(Zpos top) <= !u * f mode ->
  bound_from (before f) f j (ups u uls).
Proof.
  assert (T : 0 <= !(Zpos top)) by (apply nonneg_Q; lia).
  induction uls as [|[u' l] r IH]; intros j u H U B; cbn [ups bound_from].
  - pose proof (f_nonneg j). repeat split; try lia; try assumption. change (!0) with 0. nra.
  - destruct H as [(U' & L & H1 & H2) R]. cbn [fst snd] in *. repeat split; try assumption. apply IH; assumption.
Qed.

Lemma downs_ok uls : forall j l, near_from j uls -> (0 <= l)%Z -> !l * f mode <= before f j * !(Zpos top) ->
  bound_from f (before f) j (downs l uls).
Proof.
  induction uls as [|[u l'] r IH]; intros j l H L B; cbn [downs bound_from]; [exact I|].
  destruct H as [(U' & L' & H1 & H2) R]. cbn [fst snd] in *. repeat split; try assumption. apply IH; assumption.
Qed.

Lemma before_nonneg j : 0 <= before f j.
Proof. destruct j; cbn [before]; [lra|apply f_nonneg]. Qed.

Lemma ups_length uls : forall u, length (ups u uls) = S (length uls).
Proof. induction uls as [|[u' l] r IH]; intro u; cbn [ups length]; auto. Qed.

Lemma downs_length uls : forall u, length (downs u uls) = length uls.
Proof. induction uls as [|[u' l] r IH]; intro u; cbn [downs length]; auto. Qed.

Lemma sum_before n j : sum (before f) (S j) n == sum f j n.
Proof. revert j. induction n as [|n IH]; intro j; cbn [sum before]; [reflexivity|]. rewrite IH. reflexivity. Qed.

Definition atoms (up : bool) : list (Z * Z) := (if up then ups 0 found else downs 0 found) ++ [(tail, 0%Z)].

Lemma tail_nonneg : (0 <= tail)%Z.
Proof.
  unfold tail. apply over_nonneg; [lia|]. assert (X : (0 <= tail_gain)%Z) by (unfold tail_gain, gain; lia).
  assert (U : near last_count (last found (0, 0)%Z)).
  { rewrite last_nth, found_length. cbn [Nat.sub]. rewrite Nat.sub_0_r.
    apply (near_nth found last_count 0%nat); [rewrite found_length; lia|exact found_ok]. }
  destruct U as [U _]. nia.
Qed.

Lemma atoms_ok (up : bool) n :
  dominates (atom_law o (atoms up)) (if up then pairs (before f) f 0 n else pairs f (before f) 0 n).
Proof.
  intros x y X Y. destruct up; apply pairs_ok; auto using f_nonneg, before_nonneg, tail_nonneg.
  - apply ups_ok; [exact found_ok|lia|]. cbn [before]. change (!0) with 0. pose proof (f_nonneg mode). lra.
  - intro m. rewrite ups_length, found_length. cbn [plus]. rewrite sum_before. apply tail_ok.
  - apply downs_ok; [exact found_ok|lia|]. cbn [before]. change (!0) with 0. pose proof (f_nonneg mode). lra.
  - intro m. rewrite downs_length, found_length. cbn [plus]. apply tail_ok.
Qed.

End Noise.

(** ** The claim *)

Section Claim.

Variables t o : positive.
Variables a b d : Z.
Variable mode : nat.
Variable top : positive.
Variables after : nat.  (* how many counts after the mode have bounds of their own *)
Variable first_node : Z.
Variable nodes : nat.
Variable mul : list Z -> list Z -> list Z.
Hypothesis mul_ok : forall p q, whole p -> whole q -> mul p q = pmul p q.
Variables low high low' high' : Z.  (* the windows of instances one after another, and of blocks *)

(** Atoms are sharply placed if likelihood ratios grow. *)
Definition sorted (up : bool) : list (Z * Z) :=
  let l := atoms a b d mode top after up in if Bool.eqb up (b <=? a)%Z then l else rev l.

Definition measure_in (up : bool) : measure :=
  measured_at (nodes_from t (start t first_node) nodes) first_node nodes (sorted up).

Lemma bound_wholes f P P' l : forall j, bound_from mode top f P P' j l -> wholes l.
Proof. induction l as [|[p q] l IH]; intros j H; constructor; [apply H|]. apply (IH (S j)), H. Qed.

Lemma measure_ok up : sound o a b d mode top after = true -> forall l, noisy_sum_in a b d up l ->
  nonneg l /\ valid (measure_in up) /\ dominates (pair t (s o) (measure_in up)) l.
Proof.
  unfold sound. rewrite !andb_true_iff. intros [[[D A] TG] SUM] l (f & n & F & ->).
  apply Z.ltb_lt in D, TG. apply Z.leb_le in SUM. rewrite forallb_forall in A.
  assert (A' : forall i, (i < mode)%nat -> (0 < a + b * Z.of_nat i)%Z) by (intros; apply Z.ltb_lt, A, in_seq; lia).
  split.
  { assert (P : forall g g', (forall j, 0 <= g j) -> (forall j, 0 <= g' j) -> nonneg (pairs g g' 0 n)).
    { intros g g' G G'. apply Forall_map, Forall_forall. cbn. auto. }
    pose proof (f_nonneg a b d f F). pose proof (before_nonneg a b d f F). destruct up; auto. }
  assert (W : wholes (atoms a b d mode top after up)).
  { pose proof (found_ok a b d mode top after f F D A') as K. pose proof (f_nonneg a b d f F mode) as M.
    unfold atoms. apply Forall_app. split.
    - destruct up; [eapply bound_wholes, ups_ok|eapply bound_wholes, downs_ok];
        try exact K; try exact F; try exact o; try lia; cbn [before]; change (!0) with 0; lra.
    - repeat constructor; cbn [fst snd]; [|lia]. eapply tail_nonneg; eassumption || exact o. }
  assert (W' : wholes (sorted up)) by (unfold sorted; destruct (Bool.eqb _ _); [exact W|apply Forall_rev; exact W]).
  destruct (measured_ok t o first_node nodes _ W') as [V K]. split; [exact V|].
  eapply dominates_trans; [exact K|]. intros x y X Y.
  pose proof (atoms_ok o a b d mode top after f F D A' TG SUM up n x y X Y) as H.
  unfold sorted. destruct (Bool.eqb _ _); [exact H|]. unfold atom_law. rewrite map_rev, h_rev. exact H.
Qed.

Definition check (claimed : claim) : bool :=
  sound o a b d mode top after && certified t o mul [measure_in true; measure_in false] low high low' high' claimed.

(** Whatever noise of this law, and whatever is chosen by what was seen: also which sum is the larger one. *)
Theorem check_ok claimed : check claimed = true -> private (noisy_sum a b d) claimed.
Proof.
  intro C. apply andb_true_iff in C as [G C]. refine (certified_ok t o mul mul_ok _ _ _ low high low' high' claimed C).
  intros l [up H]. destruct (measure_ok up G l H) as (N & V & D). split; [exact N|].
  exists (measure_in up). destruct up; cbn; auto.
Qed.

End Claim.
