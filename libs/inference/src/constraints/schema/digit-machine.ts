import type { RegexMachine } from '../regex.js';

const zero = 0x30;
const point = 0x2e;

/** Numbers of one length in digits, some of them behind a point: those from one to another that are multiples of a third. */
export interface DigitRange {
  /** Digits of the same length, with leading zeros. */
  from: string;
  to: string;
  multipleOf: bigint;
  /** Digits behind the point. */
  fractionDigits: number;
}

interface DigitState {
  /** Digits read. */
  position: number;
  /** Whether they are those of `from`, and those of `to`. */
  isLowest: boolean;
  isHighest: boolean;
  remainder: bigint;
  hasPoint: boolean;
}

/**
 * Reads the digits of such numbers, and only those with which some number goes on: whether one does is arithmetic. States that
 * go on alike are the same, so that there are few.
 */
export class DigitMachine implements RegexMachine {
  private readonly states: DigitState[] = [];
  private readonly ids = new Map<string, number>();
  private readonly powers: bigint[] = [1n];

  /** Null where there is no such number. */
  static of(range: DigitRange): DigitMachine | null {
    const machine = new DigitMachine(range);
    const start = { position: 0, isLowest: true, isHighest: true, remainder: 0n, hasPoint: range.fractionDigits === 0 };
    if (!machine.goesOn(start)) return null;
    machine.idOf(start);
    return machine;
  }

  private constructor(private readonly range: DigitRange) {
    for (let power = 1; power <= range.from.length; power++) this.powers.push((this.powers[power - 1] ?? 1n) * 10n);
  }

  isEnd(id: number): boolean {
    const { position, hasPoint } = this.at(id);
    return hasPoint && position === this.range.from.length;
  }

  next(id: number, byte: number): number | null {
    const state = this.at(id);
    const { from, to, multipleOf, fractionDigits } = this.range;
    if (byte === point) {
      const isDue = !state.hasPoint && state.position === from.length - fractionDigits;
      return isDue ? this.idOf({ ...state, hasPoint: true }) : null;
    }
    const digit = byte - zero;
    const isPointDue = !state.hasPoint && state.position === from.length - fractionDigits;
    if (digit < 0 || digit > 9 || isPointDue || state.position === from.length) return null;
    const [low, high] = [Number(from[state.position]), Number(to[state.position])];
    if ((state.isLowest && digit < low) || (state.isHighest && digit > high)) return null;
    const next = {
      position: state.position + 1,
      isLowest: state.isLowest && digit === low,
      isHighest: state.isHighest && digit === high,
      remainder: (state.remainder * 10n + BigInt(digit)) % multipleOf,
      hasPoint: state.hasPoint,
    };
    return this.goesOn(next) ? this.idOf(next) : null;
  }

  /** Whether the rest of the digits can make a multiple. */
  private goesOn({ position, isLowest, isHighest, remainder }: DigitState): boolean {
    const { from, to, multipleOf } = this.range;
    const span = this.powers[from.length - position] ?? 1n;
    const least = isLowest ? BigInt(from.slice(position) || '0') : 0n;
    const most = isHighest ? BigInt(to.slice(position) || '0') : span - 1n;
    // The first rest of at least `least` that makes the remainder zero.
    const missing = (remainder * span + least) % multipleOf;
    return least + (missing === 0n ? 0n : multipleOf - missing) <= most;
  }

  private at(id: number): DigitState {
    return this.states[id] as DigitState;
  }

  private idOf(state: DigitState): number {
    const { position, isLowest, isHighest, remainder, hasPoint } = state;
    const key = `${position}${isLowest ? 'l' : ''}${isHighest ? 'h' : ''}${hasPoint ? '.' : ''}${remainder}`;
    const known = this.ids.get(key);
    if (known !== undefined) return known;
    this.ids.set(key, this.states.length);
    return this.states.push(state) - 1;
  }
}
