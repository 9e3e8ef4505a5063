import type { Frame, FramePart } from './reply-frame.js';

/** How long later messages wait for a missing one, in ms; afterwards the reply streams see the gap. */
const maxWaitMs = 5_000;

/** How many senders' numbers are kept. The sender that was silent for longest is dropped first. */
const rememberedSenders = 5_000;

/** How long a sender keeps what it has sent, in ms. Nothing is missing from a sender that was silent for longer. */
export const resendableMs = 60_000;

/**
 * How many characters may wait for missing messages in all scopes together, and what each message counts in addition to
 * its text.
 */
const maxHeldCharacters = 32 * 1_024 * 1_024;
const frameCharacters = 500;

interface HeldFrame {
  readonly frame: Frame;
  readonly characters: number;
}

interface SenderState {
  next: number;
  heardAtMs: number;
  readonly held: Map<number, HeldFrame>;
  heldCharacters: number;
  timer: NodeJS.Timeout | null;
}

/**
 * What all subscribers of a process hold together. The subscriber that holds most makes room, so that others keep
 * theirs.
 */
export class HeldReplies {
  private readonly subscribers = new Set<ReplySubscriber>();
  private characters = 0;

  add(subscriber: ReplySubscriber): void {
    this.subscribers.add(subscriber);
  }

  count(characters: number): void {
    this.characters += characters;
  }

  makeRoom(): void {
    if (this.characters <= maxHeldCharacters) return;
    const [largest] = [...this.subscribers].toSorted((left, right) => right.holds - left.holds);
    largest?.giveUpHalf();
  }
}

/** Puts the messages of each sender back in order, drops repeated ones, and requests missing ones. */
export class ReplySubscriber {
  private readonly senders = new Map<string, SenderState>();
  private readonly holding = new Set<SenderState>();
  private heldCharacters = 0;

  constructor(
    private readonly accept: (part: FramePart) => void,
    private readonly onMissing: () => void,
    private readonly all = new HeldReplies(),
  ) {
    all.add(this);
  }

  /** Counts the characters of messages that wait for missing ones. */
  get holds(): number {
    return this.heldCharacters;
  }

  /** Takes a frame and the `characters` of its message. */
  receive(frame: Frame, characters: number): void {
    const state = this.stateOf(frame.sender);
    state.heardAtMs = performance.now();
    if (frame.number < state.next) return;
    if (frame.number > state.next) return this.hold(state, { frame, characters: characters + frameCharacters });
    this.deliver(state, frame);
    this.releaseInOrder(state);
  }

  /** Returns the next expected number of each sender that may still have what was lost. */
  expected(): Record<string, number> {
    const now = performance.now();
    const recent = [...this.senders].filter(([, { heardAtMs }]) => now - heardAtMs < resendableMs);
    return Object.fromEntries(recent.map(([sender, { next }]) => [sender, next]));
  }

  /** Senders that hold most come first: one that sends much without the message before it makes room for the others. */
  giveUpHalf(): void {
    const half = this.heldCharacters / 2;
    const largest = [...this.holding].toSorted((left, right) => right.heldCharacters - left.heldCharacters);
    for (const state of largest) {
      if (this.heldCharacters <= half) return;
      this.giveUp(state);
    }
  }

  close(): void {
    for (const { timer } of this.senders.values()) if (timer !== null) clearTimeout(timer);
    this.senders.clear();
    this.holding.clear();
  }

  private stateOf(sender: string): SenderState {
    const known = this.senders.get(sender);
    const state = known ?? {
      next: 0,
      heardAtMs: 0,
      held: new Map<number, HeldFrame>(),
      heldCharacters: 0,
      timer: null,
    };
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
      state.timer = setTimeout(() => this.giveUp(state), maxWaitMs);
      this.onMissing();
    }
    this.all.makeRoom();
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

  private countHeld(state: SenderState, characters: number): void {
    state.heldCharacters += characters;
    this.heldCharacters += characters;
    this.all.count(characters);
    if (state.heldCharacters > 0) this.holding.add(state);
    else this.holding.delete(state);
  }
}
