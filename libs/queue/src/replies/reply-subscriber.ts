import type { Frame, FramePart } from './reply-frame.js';

/** How long later messages wait for a missing one, in ms; afterwards the reply streams see the gap. */
const patienceMs = 5_000;

/** Senders whose numbers are kept; those silent for longest are dropped first. */
const rememberedSenders = 5_000;

interface SenderState {
  next: number;
  readonly held: Map<number, Frame>;
  timer: NodeJS.Timeout | null;
}

/** Puts the messages of each sender back in order, drops repeated ones, and requests missing ones. */
export class ReplySubscriber {
  private readonly senders = new Map<string, SenderState>();

  constructor(
    private readonly accept: (part: FramePart) => void,
    private readonly onMissing: () => void,
  ) {}

  receive(frame: Frame): void {
    const state = this.stateOf(frame.sender);
    if (frame.number < state.next) return;
    if (frame.number > state.next) return this.hold(state, frame);
    this.deliver(state, frame);
    this.releaseInOrder(state);
  }

  /** The next number expected of each sender. */
  expected(): Record<string, number> {
    return Object.fromEntries([...this.senders].map(([sender, { next }]) => [sender, next]));
  }

  close(): void {
    for (const { timer } of this.senders.values()) if (timer !== null) clearTimeout(timer);
    this.senders.clear();
  }

  private stateOf(sender: string): SenderState {
    const known = this.senders.get(sender);
    const state = known ?? { next: 0, held: new Map<number, Frame>(), timer: null };
    this.senders.delete(sender);
    this.senders.set(sender, state);
    const [oldest] = this.senders.keys();
    if (this.senders.size > rememberedSenders && oldest !== undefined) this.senders.delete(oldest);
    return state;
  }

  private deliver(state: SenderState, frame: Frame): void {
    state.next = frame.number + 1;
    for (const part of frame.parts) this.accept(part);
  }

  private hold(state: SenderState, frame: Frame): void {
    state.held.set(frame.number, frame);
    if (state.timer !== null) return;
    state.timer = setTimeout(() => this.giveUp(state), patienceMs);
    this.onMissing();
  }

  private releaseInOrder(state: SenderState): void {
    for (let frame = state.held.get(state.next); frame !== undefined; frame = state.held.get(state.next)) {
      state.held.delete(frame.number);
      this.deliver(state, frame);
    }
    if (state.held.size === 0 && state.timer !== null) {
      clearTimeout(state.timer);
      state.timer = null;
    }
  }

  /** Delivers what is available; each reply stream knows by its own numbers whether the gap was in its events. */
  private giveUp(state: SenderState): void {
    state.timer = null;
    const held = [...state.held.values()].sort((left, right) => left.number - right.number);
    state.held.clear();
    for (const frame of held) this.deliver(state, frame);
  }
}
