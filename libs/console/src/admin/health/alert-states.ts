import { type AlertName, type AlertRule, alertRules } from '#platform/metrics';

/** A condition of an alert that holds now. */
export interface AlertCondition {
  alert: AlertName;
  /** The thing that it is about, such as a model; a rule can hold for several. */
  subject: string;
  /** A sentence with the values. */
  summary: string;
  /** The time for which it has held for certain, in ms. Default: nothing is known. */
  heldMs?: number;
}

/** An alert as Prometheus would show it: `pending` until its condition has held long enough. */
export interface JudgedAlert {
  alert: AlertName;
  summary: string;
  state: 'pending' | 'firing';
  /** The time since which it is known to hold, in ms since the epoch. */
  sinceMs: number;
}

/** A condition may have ended and begun anew if no page asked for longer, in ms. */
const maxGapMs = 120_000;

/**
 * Remembers since when conditions hold, as long as a page asks for them. Prometheus evaluates its rules all the time
 * instead.
 */
export class AlertStates {
  private since = new Map<string, number>();
  private lookedAtMs = -Infinity;

  /** Returns the alerts of all conditions that hold at `nowMs`: firing ones first, then critical ones. */
  judge(conditions: readonly AlertCondition[], nowMs: number): JudgedAlert[] {
    const known = nowMs - this.lookedAtMs <= maxGapMs ? this.since : new Map<string, number>();
    this.lookedAtMs = nowMs;
    this.since = new Map();
    const judged = conditions.map(({ alert, subject, summary, heldMs = 0 }): JudgedAlert => {
      const id = `${alert} ${subject}`;
      const sinceMs = Math.min(known.get(id) ?? nowMs, nowMs - heldMs);
      this.since.set(id, sinceMs);
      const { forMs }: AlertRule = alertRules[alert];
      return { alert, summary, state: nowMs - sinceMs >= forMs ? 'firing' : 'pending', sinceMs };
    });
    return judged.toSorted((left, right) => rankOf(left) - rankOf(right));
  }
}

function rankOf({ alert, state }: JudgedAlert): number {
  return (state === 'firing' ? 0 : 2) + (alertRules[alert].severity === 'critical' ? 0 : 1);
}
