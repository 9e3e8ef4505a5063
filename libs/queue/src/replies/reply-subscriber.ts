import type { Frame, FramePart } from './reply-frame.js';

/** How long later messages wait for a missing one, in ms; afterwards the reply streams see the gap. */
const patienceMs = 5_000;

/** Senders whose numbers are kept; those silent for longest are dropped first. */
const rememberedSenders = 5_000;

/** Characters of messages that wait for missing ones, of all senders together, and what each counts besides its text. */
const maxHeldCharacters = 16 * 1_024 * 1_024;
const frameCharacters = 500;

interface HeldFrame {
  readonly frame: Frame;
  readonly characters: number;
}

interface SenderState {
  next: number;
  readonly held: Map<number, HeldFrame>;
  heldCharacters: number;
  timer: NodeJS.Timeout | null;
}

/** Puts the messages of each sender back in order, drops repeated ones, and requests missing ones. */
export class ReplySubscriber {
  private readonly senders = new Map<string, SenderState>();
  private readonly holding = new Set<SenderState>();
  private heldCharacters = 0;

  constructor(
    private readonly accept: (part: FramePart) => void,
    private readonly onMissing: () => void,
  ) {}

  /** `characters` of the message that the frame came in. */
  receive(frame: Frame, characters: number): void {
    const state = this.stateOf(frame.sender);
    if (frame.number < state.next) return;
    if (frame.number > state.next) return this.hold(state, { frame, characters: characters + frameCharacters });
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
    this.holding.clear();
  }

  private stateOf(sender: string): SenderState {
    const known = this.senders.get(sender);
    const state = known ?? { next: 0, held: new Map<number, HeldFrame>(), heldCharacters: 0, timer: null };
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

  private hold(state: SenderState, held: HeldFrame): void {
    if (state.held.has(held.frame.number)) return;
    state.held.set(held.frame.number, held);
    this.countHeld(state, held.characters);
    if (state.timer === null) {
      state.timer = setTimeout(() => this.giveUp(state), patienceMs);
      this.onMissing();
    }
    if (this.heldCharacters > maxHeldCharacters) this.giveUpLargest();
  }

  private releaseInOrder(state: SenderState): void {
    for (let held = state.held.get(state.next); held !== undefined; held = state.held.get(state.next)) {
      state.held.delete(held.frame.number);
      this.countHeld(state, -held.characters);
      this.deliver(state, held.frame);
    }
    if (state.held.size === 0 && state.timer !== null) {
      clearTimeout(state.timer);
      state.timer = null;
    }
  }

  /** Delivers what is available; each reply stream knows by its own numbers whether the gap was in its events. */
  private giveUp(state: SenderState): void {
    if (state.timer !== null) clearTimeout(state.timer);
    state.timer = null;
    const held = [...state.held.values()].sort((left, right) => left.frame.number - right.frame.number);
    state.held.clear();
    this.countHeld(state, -state.heldCharacters);
    for (const { frame } of held) this.deliver(state, frame);
  }

  /** Who sends much without what comes before makes room for the others. */
  private giveUpLargest(): void {
    let largest: SenderState | null = null;
    for (const state of this.holding) {
      if (largest === null || state.heldCharacters > largest.heldCharacters) largest = state;
    }
    if (largest !== null) this.giveUp(largest);
  }

  private countHeld(state: SenderState, characters: number): void {
    state.heldCharacters += characters;
    this.heldCharacters += characters;
    if (state.heldCharacters > 0) this.holding.add(state);
    else this.holding.delete(state);
  }
}
