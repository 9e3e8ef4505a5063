import type { StateNames } from '../../runtime/decoder-graph.js';
import { type GraphDevice, type GraphSession, type KeptTensor, runKept } from '../../runtime/graph-session.js';
import { stateSize } from '../row-states.js';
import { StateSnapshots } from '../state-snapshots.js';

/** States of some rows on the device, one tensor per state of the graph. They are shared, and never written to. */
export class ResidentStates {
  private holders = 1;

  constructor(
    readonly tensors: readonly KeptTensor[],
    readonly rows: number,
  ) {}

  share(): ResidentStates {
    this.holders += 1;
    return this;
  }

  release(): void {
    this.holders -= 1;
    if (this.holders === 0) for (const tensor of this.tensors) tensor.release();
  }
}

/** State of one row among those that ran together. Whoever has one releases it once. */
export class ResidentState {
  /** Takes over the holder's part in `states`. */
  constructor(
    readonly states: ResidentStates,
    readonly slot: number,
  ) {}

  share(): ResidentState {
    return new ResidentState(this.states.share(), this.slot);
  }

  release(): void {
    this.states.release();
  }
}

/** Copies states of rows on the device, by small graphs beside that of the model. */
export class StateCopier {
  private picking: Promise<GraphSession> | null = null;
  private joining: Promise<GraphSession> | null = null;
  private zeros: ResidentStates | null = null;
  private readonly names: readonly string[];

  constructor(
    private readonly device: GraphDevice,
    private readonly shape: readonly StateNames[],
  ) {
    this.names = shape.map((_, index) => `y.${index}`);
  }

  /** Returns the state of one row before its first token. */
  async empty(): Promise<ResidentStates> {
    this.zeros ??= await this.makeZeros();
    return this.zeros.share();
  }

  /** Returns rows in an order; without a copy, if they are all of them. */
  async pick(from: ResidentStates, rows: readonly number[]): Promise<ResidentStates> {
    if (rows.length === from.rows && rows.every((row, index) => row === index)) return from.share();
    const session = await this.picker();
    const feeds = { ...rowsOf(session, rows), ...named('x', from) };
    return new ResidentStates(await runKept(session, feeds, this.names), rows.length);
  }

  /** Returns rows of two states, counted on from the first to the second. */
  async join(one: ResidentStates, other: ResidentStates, rows: readonly number[]): Promise<ResidentStates> {
    const session = await this.joiner();
    const feeds = { ...rowsOf(session, rows), ...named('a', one), ...named('b', other) };
    return new ResidentStates(await runKept(session, feeds, this.names), rows.length);
  }

  async close(): Promise<void> {
    this.zeros?.release();
    this.zeros = null;
    for (const session of [this.picking, this.joining]) await (await session)?.release();
    this.picking = this.joining = null;
  }

  private async makeZeros(): Promise<ResidentStates> {
    const session = await this.picker();
    const tensors = this.shape.map((state, index) => {
      const zeros = new Float32Array(stateSize(state));
      return [`x.${index}`, session.tensor('float32', zeros, [1, ...state.dimensions])] as const;
    });
    const feeds = { ...rowsOf(session, [0]), ...Object.fromEntries(tensors) };
    return new ResidentStates(await runKept(session, feeds, this.names), 1);
  }

  private async picker(): Promise<GraphSession> {
    return await (this.picking ??= import('#model-store/device').then(({ pickStatesGraph }) =>
      this.device.openBeside(pickStatesGraph(this.shape.map(({ dimensions }) => dimensions))),
    ));
  }

  private async joiner(): Promise<GraphSession> {
    return await (this.joining ??= import('#model-store/device').then(({ joinStatesGraph }) =>
      this.device.openBeside(joinStatesGraph(this.shape.map(({ dimensions }) => dimensions))),
    ));
  }
}

/** Snapshots of states on the device. A row among others gives only its own part, once the device can copy it. */
export class ResidentSnapshots extends StateSnapshots<ResidentState> {
  /** States that rows which ran together still have in common. */
  private shared: { state: ResidentState | null }[] = [];

  /** Copies the parts of rows out of what they ran in. */
  async settle(copier: StateCopier): Promise<void> {
    for (const snapshot of this.shared.splice(0)) {
      const { state } = snapshot;
      if (state === null || state.states.rows === 1) continue;
      snapshot.state = new ResidentState(await copier.pick(state.states, [state.slot]), 0);
      state.release();
    }
  }

  override snapshot(length: number, state: ResidentState) {
    const snapshot = super.snapshot(length, state);
    this.shared.push(snapshot);
    return snapshot;
  }

  protected override copyForKeeping(state: ResidentState): ResidentState {
    return state.share();
  }
}

function rowsOf(session: GraphSession, rows: readonly number[]) {
  return { rows: session.tensor('int64', BigInt64Array.from(rows, BigInt), [rows.length]) };
}

function named(side: string, { tensors }: ResidentStates): Record<string, KeptTensor> {
  return Object.fromEntries(tensors.map((tensor, index) => [`${side}.${index}`, tensor]));
}
