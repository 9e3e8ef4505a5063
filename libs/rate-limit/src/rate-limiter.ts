import { PlatformError } from '#common';
import { LimitsConfig } from '#platform/config';
import { Injectable } from '#platform/injection';
import { type Block, FailureGuard, guardOfAddress, guardOfKey } from './failure-guard.js';
import { blockHeaders, limitHeaders, type LimitScope, type MeasuredWindow } from './limit-headers.js';
import { LimitConfig } from './limits/limit-config.js';
import type { LimitSnapshot } from './limits/limit-snapshot.js';
import type { LimitClass, Limits, LimitTier } from './limits/limit-table.js';
import { RefusalLog } from './log/refusal-log.js';
import { refusedByWindow } from './refusal.js';
import { RefusalCounter } from './refusal-counter.js';
import { LimitStore, type TakeAnswer, type WindowState } from './store/limit-store.js';
import { advanceWindowShape, msUntilSlotLeaves, minuteWindow } from './store/limit-window.js';
import { TokenCorrector, TokenReservation } from './token-reservation.js';
import { accountWindow, advanceWindow, installationWindow, keyWindow, modelWindow } from './window-keys.js';

/** The requester, as far as limits are concerned. */
export interface LimitedCaller {
  accountId: string;
  apiKeyId: string;
  tier: LimitTier;
}

/** One request to a model. */
export interface ModelUse {
  modelId: string;
  limitClass: LimitClass;
  /**
   * Maximum tokens it will use. A request whose limit was not the caller's own choice can be reduced, down to `min`,
   * where a whole minute of the limit would not cover it.
   */
  tokens?: { min: number; max: number };
}

export interface LimitDecision {
  /** `x-ratelimit-*`, for any response. Empty where no limit applies. */
  headers: Record<string, string>;
  /** The refusal to return; null: continue. */
  refusal: PlatformError | null;
  /** Tokens the request may use: its maximum, or fewer. */
  tokens: number;
  /** Null where no tokens are counted. */
  reservation: TokenReservation | null;
}

/** Requests that a replica took from the minute of an account before they came. */
export interface RequestsInAdvance {
  decision: LimitDecision;
  /** How many it has; 0 after a refusal. They may be used for `advanceMs` from before the call. */
  requests: number;
  /** `x-ratelimit-*` while `unused` of them are left. */
  headers(unused: number): Record<string, string>;
  /** Gives back all but those that were used; never rejects. */
  settle(used: number): Promise<void>;
}

interface Window {
  scope: LimitScope;
  key: string;
  limits: Limits;
}

const unlimited: LimitDecision = { headers: {}, refusal: null, tokens: Infinity, reservation: null };

/** Maximum time for which a refusal is remembered, in ms: an operator may raise the limit meanwhile. */
const maxRememberedMs = 5_000;

/** A refusal that holds for every request of a key, or of all keys. */
interface RememberedRefusal {
  untilMs: number;
  decision: (leftMs: number) => LimitDecision;
}

/** Checks every request against the limits of its account, its key and the installation, in one step. */
@Injectable()
export class RateLimiter {
  /** By key window; those of the installation's window. */
  private readonly refused = new Map<string, RememberedRefusal>();

  constructor(
    private readonly store: LimitStore,
    private readonly limitConfig: LimitConfig,
    private readonly guard: FailureGuard,
    private readonly corrector: TokenCorrector,
    private readonly log: RefusalLog,
    /** Without rate limits, nothing is counted or refused. */
    private readonly config: LimitsConfig,
    private readonly refusals: RefusalCounter,
  ) {}

  /** For requests that run a model. Rejects with `SERVICE_UNAVAILABLE` when the store is unavailable. */
  async admitModel(caller: LimitedCaller, use: ModelUse): Promise<LimitDecision> {
    if (!this.config.rateLimits) return { ...unlimited, tokens: use.tokens?.max ?? 0 };
    const page = await this.limitConfig.page();
    const userWindow: Window = { scope: 'user', key: modelWindow(caller, use), limits: page.ofModel(caller, use) };
    return await this.admit(caller, use, windowsOf(page, caller, userWindow));
  }

  /**
   * Takes several requests to a model in one step. Where a key or the installation has limits, whose windows count
   * requests of all kinds, it takes one. `isTrial`: a refusal is not logged. Rejects as above.
   */
  async admitAhead(
    caller: LimitedCaller,
    use: ModelUse,
    { requests, isTrial }: { requests: number; isTrial: boolean },
  ): Promise<RequestsInAdvance> {
    if (!this.config.rateLimits) return admittedAhead({ ...unlimited, tokens: 0 }, requests);
    const page = await this.limitConfig.page();
    const userWindow: Window = { scope: 'user', key: advanceWindow(caller, use), limits: page.ofModel(caller, use) };
    if (windowsOf(page, caller, userWindow).length > 1) return admittedAhead(await this.admitModel(caller, use), 1);
    return await this.takeAhead(caller, use, { own: userWindow, requests, isTrial });
  }

  /** For all other requests of a key. Rejects as above. */
  async admitPlain(caller: LimitedCaller): Promise<LimitDecision> {
    if (!this.config.rateLimits) return unlimited;
    const page = await this.limitConfig.page();
    const limits = page.ofPlainRequests(caller.accountId);
    const userWindow: Window = { scope: 'user', key: accountWindow(caller), limits };
    return await this.admit(caller, null, windowsOf(page, caller, userWindow));
  }

  /**
   * Returns the refusal for a caller known to be blocked, or refused lately for whatever it would send; null for all
   * others. Asks no store, so that such requests cost nothing before their body is read.
   */
  async blocked(caller: LimitedCaller): Promise<LimitDecision | null> {
    const block = this.config.rateLimits ? this.guard.block(guardOfKey(caller.apiKeyId)) : null;
    if (block === null) return this.refusedLately(keyWindow(caller)) ?? this.refusedLately(installationWindow);
    return this.refuseBlocked((await this.limitConfig.page()).ofPlainRequests(caller.accountId), block);
  }

  /** Returns the response for an unauthenticated client at an address known to be blocked; null for all others. */
  blockedAddress(address: string): PlatformError | null {
    const block = this.config.rateLimits ? this.guard.block(guardOfAddress(address)) : null;
    if (block === null) return null;
    this.refusals.count('failures');
    return this.guard.refusal(block.leftMs);
  }

  /** Counts a failed request towards the block; never rejects. */
  async failed(caller: LimitedCaller | null, address: string): Promise<void> {
    const { guard, log } = this;
    const guardKey = caller === null ? guardOfAddress(address) : guardOfKey(caller.apiKeyId);
    // Responses to blocked callers do not count as new failures.
    if (!this.config.rateLimits || guard.block(guardKey) !== null) return;
    const began = await guard.failed(guardKey);
    if (began === null || caller === null) return;
    const { accountId, apiKeyId, tier } = caller;
    log.note({ accountId, apiKeyId, tier, modelId: '', type: 'FAILED_REQUESTS', atMs: began.beganAtMs });
  }

  private async admit(caller: LimitedCaller, use: ModelUse | null, windows: Window[]): Promise<LimitDecision> {
    const { store, guard } = this;
    const tokens = heldTokens(use?.tokens, windows);
    const guardKey = guardOfKey(caller.apiKeyId);
    const answer = await store.take({
      guard: guardKey,
      tokens,
      // A window may hold more than its limit; a request that adds nothing is not refused for that.
      windows: windows.map(({ key, limits }) => ({ key, ...limits, ...(tokens === 0 && { tokens: null }) })),
    });
    if (answer.blockedMs > 0) {
      return this.refuseBlocked(windows[0]?.limits ?? { requests: 0, tokens: null }, guard.learn(guardKey, answer));
    }
    const measured = windows.map(({ scope, limits }, index) => ({
      scope,
      limits,
      state: stateAfter(answer, index, tokens),
    }));
    if (!answer.granted) return this.refuse(caller, use, { measured, answer, tokens });
    return {
      headers: limitHeaders(measured, answer.nowMs, null),
      refusal: null,
      tokens,
      reservation: use === null ? null : this.reserve(caller, use, { windows, tokens, slot: answer.slot }),
    };
  }

  private async takeAhead(
    caller: LimitedCaller,
    use: ModelUse,
    { own: { scope, key, limits }, requests, isTrial }: { own: Window; requests: number; isTrial: boolean },
  ): Promise<RequestsInAdvance> {
    const { store, guard } = this;
    const guardKey = guardOfKey(caller.apiKeyId);
    const windows = [{ key, requests: null, tokens: limits.requests }];
    const answer = await store.take({ guard: guardKey, windows, tokens: requests, window: advanceWindowShape });
    if (answer.blockedMs > 0) {
      const decision = this.refuseBlocked(limits, guard.learn(guardKey, answer));
      return admittedAhead(decision, 0);
    }
    const state = requestsOf(stateAfter(answer, 0, requests));
    const measured = [{ scope, limits, state }];
    if (!answer.granted) {
      const decision = isTrial ? notAhead : this.refuse(caller, use, { measured, answer, tokens: 0 });
      return admittedAhead(decision, 0);
    }
    const headers = (unused: number): Record<string, string> => {
      const left = { ...state, requests: state.requests - unused };
      return limitHeaders([{ scope, limits, state: left }], answer.nowMs, null);
    };
    const decision: LimitDecision = { headers: headers(0), refusal: null, tokens: 0, reservation: null };
    const settle = async (used: number): Promise<void> => {
      // A count that cannot be corrected is too high until its slot leaves.
      if (used < requests) await store.correct([key], answer.slot, used - requests).catch(() => undefined);
    };
    return { decision, requests, headers, settle };
  }

  private reserve(
    { accountId, apiKeyId }: LimitedCaller,
    { modelId }: ModelUse,
    { windows, tokens, slot }: { windows: Window[]; tokens: number; slot: number },
  ): TokenReservation | null {
    if (windows.every(({ limits }) => limits.tokens === null)) return null;
    const refund = () => void this.corrector.correct({ accountId, apiKeyId, modelId }, { slot, tokens }, 0);
    return new TokenReservation(slot, tokens, refund);
  }

  private refuse(
    { accountId, apiKeyId, tier }: LimitedCaller,
    use: ModelUse | null,
    { measured, answer, tokens }: { measured: MeasuredWindow[]; answer: TakeAnswer; tokens: number },
  ): LimitDecision {
    const lacking = measured.filter(({ state }) => state.lacking !== null);
    const worst = lacking.reduce((one, other) => (other.state.waitMs > one.state.waitMs ? other : one));
    const { scope, limits, state } = lacking.find((window) => canNeverFit(window, tokens)) ?? worst;
    const kind = state.lacking ?? 'requests';
    const waitMs = canNeverFit({ limits, state }, tokens) ? null : state.waitMs;
    const modelId = use?.modelId ?? null;
    // Calls of blockchain nodes run no model.
    const namedModel = use?.limitClass === 'rpc' ? null : modelId;
    this.refusals.count(`${scope}_${kind}`);
    this.log.note({
      accountId,
      apiKeyId,
      tier,
      modelId: modelId ?? '',
      type: kind === 'requests' ? 'RPM' : 'TPM',
      atMs: answer.nowMs,
    });
    const headers = limitHeaders(measured, answer.nowMs, { scope, limits, state });
    const decision = (leftMs: number | null): LimitDecision => ({
      headers,
      refusal: refusedByWindow({ scope, kind, limits, waitMs: leftMs, tokens, modelId: namedModel }),
      tokens: 0,
      reservation: null,
    });
    if (scope !== 'user' && kind === 'requests' && waitMs !== null) {
      this.remember(scope === 'global' ? installationWindow : keyWindow({ apiKeyId }), waitMs, (leftMs) => {
        this.refusals.count(`${scope}_${kind}`);
        return decision(leftMs);
      });
    }
    return decision(waitMs);
  }

  private refusedLately(windowKey: string): LimitDecision | null {
    const remembered = this.refused.get(windowKey);
    if (remembered === undefined) return null;
    const leftMs = remembered.untilMs - performance.now();
    if (leftMs <= 0) {
      this.refused.delete(windowKey);
      return null;
    }
    return remembered.decision(leftMs);
  }

  /** Windows of a model are not remembered: the next request may name another. */
  private remember(windowKey: string, waitMs: number, decision: (leftMs: number) => LimitDecision): void {
    const nowMs = performance.now();
    for (const [key, { untilMs }] of this.refused) if (untilMs <= nowMs) this.refused.delete(key);
    this.refused.set(windowKey, { untilMs: nowMs + Math.min(waitMs, maxRememberedMs), decision });
  }

  private refuseBlocked(limits: Limits, { leftMs, endsAtMs }: Block): LimitDecision {
    this.refusals.count('failures');
    return {
      headers: blockHeaders(limits, endsAtMs),
      refusal: this.guard.refusal(leftMs),
      tokens: 0,
      reservation: null,
    };
  }
}

/** Several requests did not fit. */
const notAhead: LimitDecision = {
  ...unlimited,
  refusal: new PlatformError('RATE_LIMIT_EXCEEDED', 'So many requests do not fit.'),
};

function admittedAhead(decision: LimitDecision, requests: number): RequestsInAdvance {
  return {
    decision,
    requests: decision.refusal === null ? requests : 0,
    headers: () => decision.headers,
    settle: () => Promise.resolve(),
  };
}

/** The state of a window that counts requests as tokens. */
function requestsOf(state: WindowState): WindowState {
  const lacking = state.lacking === null ? null : 'requests';
  return {
    ...state,
    requests: state.tokens,
    tokens: 0,
    requestsResetMs: state.tokensResetMs,
    tokensResetMs: 0,
    lacking,
  };
}

/** In one order everywhere, as the store requires. Keys and installations without a limit cost nothing. */
function windowsOf(page: LimitSnapshot, caller: LimitedCaller, userWindow: Window): Window[] {
  const key: Window = { scope: 'api_key', key: keyWindow(caller), limits: page.ofKey(caller.apiKeyId) };
  const all: Window = { scope: 'global', key: installationWindow, limits: page.ofInstallation() };
  return [userWindow, ...[key, all].filter(({ limits }) => limits.requests !== null || limits.tokens !== null)];
}

/**
 * Returns what is requested of the windows: at most a whole minute of the narrowest, if the request can be reduced to
 * that.
 */
function heldTokens(tokens: ModelUse['tokens'], windows: Window[]): number {
  if (tokens === undefined) return 0;
  const minute = Math.min(...windows.map(({ limits }) => limits.tokens ?? Infinity));
  return Math.max(tokens.min, Math.min(tokens.max, minute));
}

/** Recognizes a request that no window could ever take, however empty. */
function canNeverFit({ limits, state }: Pick<MeasuredWindow, 'limits' | 'state'>, tokens: number): boolean {
  return state.lacking === 'tokens' ? tokens > (limits.tokens ?? Infinity) : limits.requests === 0;
}

function stateAfter({ granted, states, slot, nowMs }: TakeAnswer, index: number, tokens: number): WindowState {
  const before = states[index];
  if (before === undefined) throw new Error('The store left a window out.');
  if (!granted) return withinWindow(before);
  // What was taken first is now the oldest.
  const leavesMs = msUntilSlotLeaves(slot, nowMs, minuteWindow);
  return withinWindow({
    ...before,
    requests: before.requests + 1,
    tokens: before.tokens + tokens,
    requestsResetMs: before.requestsResetMs || leavesMs,
    tokensResetMs: before.tokensResetMs || (tokens > 0 ? leavesMs : 0),
  });
}

/** A slot leaves up to its own length after the window. Clients are told the window, never more. */
function withinWindow(state: WindowState): WindowState {
  const { lengthMs } = minuteWindow;
  return {
    ...state,
    waitMs: Math.min(state.waitMs, lengthMs),
    requestsResetMs: Math.min(state.requestsResetMs, lengthMs),
    tokensResetMs: Math.min(state.tokensResetMs, lengthMs),
  };
}
