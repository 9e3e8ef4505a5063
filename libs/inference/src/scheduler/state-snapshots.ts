/** State of a row after its first `length` tokens. Rows with this beginning share it. */
export interface StateSnapshot<State> {
  readonly length: number;
  /** Null once it had to make room for another. */
  state: State | null;
  holders: number;
}

/** Limits of snapshots, as `keptStates` returns them. */
export interface SnapshotLimits {
  total: number;
  perRow: number;
}

/** States of rows that are kept for later prompts. The least recently used are dropped when there are too many. */
export abstract class StateSnapshots<State extends { release(): void }> {
  /** In order of their last use. */
  private readonly snapshots = new Set<StateSnapshot<State>>();

  constructor(private readonly limits: SnapshotLimits) {}

  /** Returns the state for another holder. */
  protected abstract copyForKeeping(state: State): State;

  /** Keeps a state for later prompts. The caller drops it once. */
  snapshot(length: number, state: State): StateSnapshot<State> {
    const snapshot: StateSnapshot<State> = { length, state: this.copyForKeeping(state), holders: 1 };
    this.snapshots.add(snapshot);
    const [oldest] = this.snapshots;
    if (this.snapshots.size > this.limits.total && oldest) this.discard(oldest);
    return snapshot;
  }

  /**
   * Adds a snapshot to those of a row, in order. Where there are too many, the one that leaves the smallest gap is
   * dropped, never the last.
   */
  addTo(snapshots: StateSnapshot<State>[], length: number, state: State): void {
    for (const lost of snapshots.filter(({ state: kept }) => kept === null)) {
      snapshots.splice(snapshots.indexOf(lost), 1);
      this.drop(lost);
    }
    if (snapshots.at(-1)?.length === length) return;
    snapshots.push(this.snapshot(length, state));
    if (snapshots.length <= this.limits.perRow) return;
    const gapWithout = (place: number) =>
      (snapshots[place + 1]?.length ?? Infinity) - (snapshots[place - 1]?.length ?? 0);
    let closest = 0;
    for (let place = 1; place + 1 < snapshots.length; place++) {
      if (gapWithout(place) < gapWithout(closest)) closest = place;
    }
    for (const dropped of snapshots.splice(closest, 1)) this.drop(dropped);
  }

  /** Shares the snapshots up to a length with another row. */
  share(from: readonly StateSnapshot<State>[], to: StateSnapshot<State>[], length: number): void {
    for (const snapshot of from) {
      if (snapshot.length > length) continue;
      this.touch(snapshot);
      snapshot.holders++;
      to.push(snapshot);
    }
  }

  /** Marks a snapshot as just used. */
  touch(snapshot: StateSnapshot<State>): void {
    if (this.snapshots.delete(snapshot)) this.snapshots.add(snapshot);
  }

  drop(snapshot: StateSnapshot<State>): void {
    snapshot.holders--;
    if (snapshot.holders === 0) this.discard(snapshot);
  }

  /** Number of states that are kept for later prompts. */
  get keptCount(): number {
    return this.snapshots.size;
  }

  private discard(snapshot: StateSnapshot<State>): void {
    this.snapshots.delete(snapshot);
    snapshot.state?.release();
    snapshot.state = null;
  }
}
