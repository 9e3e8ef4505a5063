import type { Clock } from '#common';
import type { MessageBus, VerifiedBus } from '../contract/message-bus.js';
import type { Seals } from '../contract/seals.js';
import { settlesWithin } from '../contract/store-call.js';
import type { ReplyChannel, TransportOptions } from '../contract/transport.js';
import { BusMembership, defaultMembershipTiming } from '../heartbeats/cluster-membership.js';
import { BusPlacements } from '../heartbeats/placement-bus.js';
import { BusWorkerControl } from '../heartbeats/worker-control.js';
import { BusHostQuestions } from '../hosts/bus-host-questions.js';
import { BusCancels } from '../replies/cancel-bus.js';
import { BusProgress } from '../replies/progress-bus.js';

export interface BusServicesDependencies {
  readonly bus: VerifiedBus;
  readonly limitedBus: MessageBus;
  readonly seals: Seals;
  readonly replies: ReplyChannel;
  readonly clock: Clock;
  readonly timing: TransportOptions['membership'];
}

/** Everything that processes tell one another over the bus. */
export class BusServices {
  readonly cancelBus: BusCancels;
  readonly membership: BusMembership;
  readonly progress: BusProgress;
  readonly placements: BusPlacements;
  readonly workerControl: BusWorkerControl;
  readonly hosts: BusHostQuestions;

  constructor({ bus, limitedBus, seals, replies, clock, timing }: BusServicesDependencies) {
    this.cancelBus = new BusCancels(bus);
    this.membership = new BusMembership(bus, clock, timing ?? defaultMembershipTiming);
    this.progress = new BusProgress(limitedBus, clock, seals);
    this.placements = new BusPlacements(bus, clock);
    this.workerControl = new BusWorkerControl(bus);
    this.hosts = new BusHostQuestions(bus, replies, this.membership);
  }

  async start(): Promise<void> {
    await this.cancelBus.start();
    await this.membership.start();
    await this.progress.start();
    await this.placements.start();
    await this.workerControl.start();
  }

  /** Says goodbye to the other processes, for `goodbyeMs` at most, and stops listening. */
  async close(goodbyeMs: number): Promise<void> {
    await settlesWithin(this.membership.close(), goodbyeMs);
    this.cancelBus.close();
    this.progress.close();
    this.placements.close();
    this.workerControl.close();
  }
}
