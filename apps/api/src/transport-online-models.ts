import { MembershipOnlineModels } from '#model-registry';
import { Injectable } from '#platform/injection';
import { QueueTransport } from '#queue';

/** The models that some worker serves, by the heartbeats on the bus of the queue. */
@Injectable()
export class TransportOnlineModels extends MembershipOnlineModels {
  constructor({ membership }: QueueTransport) {
    super(() => membership.list());
  }
}
