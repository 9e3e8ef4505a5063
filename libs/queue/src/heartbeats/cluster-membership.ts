import { randomUUID } from 'node:crypto';
import type { Clock } from '#common';
import type { Heartbeat, ClusterMembership } from '../contract/heartbeat.js';
import { isWithinScope, restrictToScope } from './heartbeat-scope.js';
import { type CountedHeartbeat, readHeartbeat } from './read-heartbeat.js';
import type { BusSender, VerifiedBus } from '../contract/message-bus.js';

const channel = 'heartbeat';

/**
 * How many addresses and runs of vanished processes are kept, so that a job found later in the queue is known to have
 * no reader.
 */
const rememberedAddresses = 1_000;

const maxUnanswered = 16;

const overdueAfterHeartbeats = 1.6;

/** The most pools whose lost workers are counted. */
const maxCountedPools = 100;

/** Shortest time between two heartbeats that greet newcomers, in ms: names may be made up, one per message. */
const greetEveryMs = 100;

/** The most processes that are kept when nothing is verified; more would be made up. The bus limits verified ones. */
const maxProcesses = 10_000;

/**
 * How long the silence of others is attributed to our own connection, in ms: after that, it was reopened or is healthy.
 */
const cutOffAtMostMs = 30_000;

/** `heartbeatMs` between heartbeats; a process silent for `lostAfterMs` is lost. */
export interface MembershipTiming {
  readonly heartbeatMs: number;
  readonly lostAfterMs: number;
}

/** Four heartbeats may be missed: the work of a dead api is cancelled within 5 s. */
export const defaultMembershipTiming: MembershipTiming = { heartbeatMs: 1_000, lostAfterMs: 4_000 };

interface KnownProcess {
  heartbeat: Heartbeat;
  atMs: number;
  /** The heartbeat as text, to detect changes. */
  text: string;
  count: number;
  run: string | undefined;
}

/** Heartbeats over the store's bus. The silence of others counts only while we could have received them. */
export class BusMembership implements ClusterMembership {
  /**
   * Processes by verified sender, so that nobody speaks for another process; by process id when nothing is verified.
   */
  private readonly processes = new Map<string, KnownProcess>();
  private readonly listeners = new Set<(heartbeats: Heartbeat[]) => void>();
  private readonly goneAddresses = new Set<string>();
  /** Runs of processes that have left. */
  private readonly endedRuns = new Set<string>();
  readonly lostWorkers = new Map<string, number>();
  private readonly stops: (() => void)[] = [];
  /** Called for every heartbeat, even one without changes. */
  onHeartbeat: (heartbeat: Heartbeat) => void = () => undefined;
  private readonly claims = new Set<{ readonly queue: string }>();
  private describe: (() => Omit<Heartbeat, 'alive' | 'claims'>) | null = null;
  private backendName: string | null = null;
  private lastHeartbeatMs = -Infinity;
  private hasNewcomers = false;
  private lastTickMs: number;
  /** Our own heartbeats that have not come back yet, oldest first. */
  private unanswered: { count: number; sentAtMs: number }[] = [];
  private heartbeatCount = 0;
  private readonly run = randomUUID();
  private lastLagMs: number | null = null;

  constructor(
    private readonly bus: VerifiedBus,
    private readonly clock: Clock,
    private readonly timing: MembershipTiming,
  ) {
    this.lastTickMs = clock.monotonicMs();
  }

  async start(): Promise<void> {
    this.stops.push(await this.bus.subscribe(channel, (text, sender) => this.receive(text, sender)));
    this.stops.push(
      this.bus.onReconnect(() => {
        // Messages sent before are lost, so nothing must wait for them.
        this.unanswered = [];
        this.resetSilence();
      }),
    );
    const tickMs = Math.min(this.timing.heartbeatMs / 4, 250);
    const timer = setInterval(() => this.tick(tickMs), tickMs);
    this.stops.push(() => clearInterval(timer));
  }

  async join(describe: () => Omit<Heartbeat, 'alive' | 'claims'>): Promise<void> {
    this.describe = describe;
    await this.announce();
  }

  async announce(): Promise<void> {
    if (this.describe === null) return;
    this.lastHeartbeatMs = this.clock.monotonicMs();
    this.hasNewcomers = false;
    this.heartbeatCount += 1;
    this.unanswered.push({ count: this.heartbeatCount, sentAtMs: this.lastHeartbeatMs });
    // The oldest one shows for how long nothing has come back, so only a few of the others are kept.
    if (this.unanswered.length > maxUnanswered) this.unanswered.splice(1, 1);
    const claims = [...new Set([...this.claims].map(({ queue }) => queue))];
    const described = this.describe();
    this.backendName = nameBackend(described);
    const heartbeat = { ...described, ...(claims.length > 0 && { claims }), alive: true };
    await this.publish({ ...heartbeat, count: this.heartbeatCount, run: this.run });
  }

  /** Null until this process has joined. */
  get ownId(): string | null {
    return this.describe?.().processId ?? null;
  }

  /** Pools and id of this process, as `gpu-a/3f0c…`; null until it has joined. */
  get ownBackend(): string | null {
    return this.backendName;
  }

  /** Lets heartbeats state that this process claims sticky jobs of a queue, until the returned function is called. */
  offerClaims(queue: string): () => void {
    const claim = { queue };
    this.claims.add(claim);
    return () => void this.claims.delete(claim);
  }

  get lagMs(): number | null {
    if (this.lastLagMs === null) return null;
    const [oldest] = this.unanswered;
    return oldest === undefined ? this.lastLagMs : Math.max(this.lastLagMs, this.clock.monotonicMs() - oldest.sentAtMs);
  }

  list(): Heartbeat[] {
    return [...this.processes.values()].map(({ heartbeat }) => heartbeat);
  }

  /**
   * Lists the processes whose newest heartbeat is not overdue. A process that died leaves this list seconds before it
   * leaves `list`.
   */
  listCurrent(): Heartbeat[] {
    const oldestMs = this.clock.monotonicMs() - overdueAfterHeartbeats * this.timing.heartbeatMs;
    return [...this.processes.values()].filter(({ atMs }) => atMs >= oldestMs).map(({ heartbeat }) => heartbeat);
  }

  onChange(listener: (heartbeats: Heartbeat[]) => void): () => void {
    this.listeners.add(listener);
    return () => this.listeners.delete(listener);
  }

  /** True when the process behind a reply address was there and is gone. An unknown process is not known to be gone. */
  isGone(replyAddress: string): boolean {
    return this.goneAddresses.has(replyAddress);
  }

  /** True when the process behind a reply address is known and not gone. */
  isHere(replyAddress: string): boolean {
    return [...this.processes.values()].some(({ heartbeat }) => heartbeat.replyAddress === replyAddress);
  }

  /** True while a process is known and not gone. */
  isAlive(processId: string): boolean {
    return [...this.processes.values()].some(({ heartbeat }) => heartbeat.processId === processId);
  }

  async close(): Promise<void> {
    for (const stop of this.stops.splice(0)) stop();
    this.listeners.clear();
    if (this.describe === null) return;
    const goodbye = { ...this.describe(), alive: false, run: this.run };
    this.describe = null;
    await this.publish(goodbye);
  }

  // A heartbeat that cannot be sent is not an error: the next one follows, and the others notice the silence.
  private async publish(heartbeat: CountedHeartbeat): Promise<void> {
    const text = JSON.stringify(restrictToScope(heartbeat, this.bus.models));
    await this.bus.publish(channel, text).catch(() => undefined);
  }

  private receive(message: string, sender: BusSender): void {
    const received = readHeartbeat(message);
    if (received === null) return;
    if (!isWithinScope(received, sender.models)) return this.bus.refuse(channel, sender);
    const { count = 0, run: statedRun, onlyModels: _claimed, ...stated } = received;
    const heartbeat: Heartbeat = { ...stated, ...(sender.models !== null && { onlyModels: sender.models }) };
    const key = sender.id ?? heartbeat.processId;
    const run = statedRun === undefined ? undefined : `${sender.id ?? ''} ${statedRun}`;
    const text = JSON.stringify(heartbeat);
    const known = this.processes.get(key);
    if (!heartbeat.alive) {
      if (run !== undefined) this.noteEnd(run);
      if (known !== undefined && known.run === run) this.drop([key]);
      return;
    }
    // A leave message has overtaken it.
    if (run !== undefined && this.endedRuns.has(run)) return;
    const atMs = this.clock.monotonicMs();
    if (known?.run !== undefined && known.run === run && count < known.count) {
      // A newer one has overtaken it.
      known.atMs = atMs;
      return;
    }
    if (known === undefined && sender.id === null && this.processes.size >= maxProcesses) return;
    this.processes.set(key, { heartbeat, atMs, text, count, run });
    if (known === undefined) this.countLost(heartbeat, 0);
    this.onHeartbeat(heartbeat);
    if (heartbeat.replyAddress !== null) this.goneAddresses.delete(heartbeat.replyAddress);
    const isOwn = sender.id === null ? heartbeat.processId === this.describe?.().processId : sender.isSelf;
    if (isOwn) this.ownHeartbeatCame(count);
    else if (!known) this.greet(atMs);
    if (known?.text !== text) this.notify();
  }

  /** Shows a new process that this one is here, before the next heartbeat is due. */
  private greet(nowMs: number): void {
    if (nowMs - this.lastHeartbeatMs < greetEveryMs) this.hasNewcomers = true;
    else void this.announce();
  }

  private noteEnd(run: string): void {
    this.endedRuns.add(run);
    const [oldest] = this.endedRuns;
    if (this.endedRuns.size > rememberedAddresses && oldest !== undefined) this.endedRuns.delete(oldest);
  }

  /** Call when an own heartbeat came back. Earlier ones are lost or were overtaken: nothing waits for them. */
  private ownHeartbeatCame(count: number): void {
    const sent = this.unanswered.find((heartbeat) => heartbeat.count === count);
    if (sent !== undefined) this.lastLagMs = this.clock.monotonicMs() - sent.sentAtMs;
    this.unanswered = this.unanswered.filter((heartbeat) => heartbeat.count > count);
  }

  private tick(tickMs: number): void {
    const now = this.clock.monotonicMs();
    // Our own event loop was blocked, and what others sent in the meantime is still in the socket.
    const stoodStill = now - this.lastTickMs > tickMs + this.timing.lostAfterMs / 4;
    if (stoodStill || !this.bus.isConnected() || this.isCutOff(now)) this.resetSilence();
    this.lastTickMs = now;
    const dueAfterMs = this.hasNewcomers ? Math.min(greetEveryMs, this.timing.heartbeatMs) : this.timing.heartbeatMs;
    if (now - this.lastHeartbeatMs >= dueAfterMs) void this.announce();
    const silent = [...this.processes].filter(([, { atMs }]) => now - atMs > this.timing.lostAfterMs);
    for (const [, { heartbeat }] of silent) this.countLost(heartbeat, 1);
    if (silent.length > 0) this.drop(silent.map(([processId]) => processId));
  }

  /** Returns true while our own heartbeats do not come back: silent processes may be as alive as this one. */
  private isCutOff(now: number): boolean {
    const overdueMs = now - (this.unanswered[0]?.sentAtMs ?? now);
    return overdueMs > overdueAfterHeartbeats * this.timing.heartbeatMs && overdueMs < cutOffAtMostMs;
  }

  private countLost({ role, worker }: Heartbeat, lost: number): void {
    if (role !== 'worker') return;
    const pool = poolsText(worker?.pools ?? []);
    const known = this.lostWorkers.get(pool);
    // The count is bounded, because workers state their pools themselves and may make up names.
    if (known === undefined && this.lostWorkers.size >= maxCountedPools) return;
    this.lostWorkers.set(pool, (known ?? 0) + lost);
  }

  private resetSilence(): void {
    const now = this.clock.monotonicMs();
    for (const entry of this.processes.values()) entry.atMs = now;
  }

  private drop(processIds: string[]): void {
    for (const processId of processIds) {
      const address = this.processes.get(processId)?.heartbeat.replyAddress;
      this.processes.delete(processId);
      if (address) this.goneAddresses.add(address);
      const [oldest] = this.goneAddresses;
      if (this.goneAddresses.size > rememberedAddresses && oldest !== undefined) this.goneAddresses.delete(oldest);
    }
    this.notify();
  }

  private notify(): void {
    const heartbeats = this.list();
    for (const listener of this.listeners) listener(heartbeats);
  }
}

function nameBackend({ worker, processId }: Pick<Heartbeat, 'worker' | 'processId'>): string {
  return `${poolsText(worker?.pools ?? [])}/${processId}`;
}

function poolsText(pools: readonly string[]): string {
  return pools.length === 0 ? 'default' : pools.join('+');
}
