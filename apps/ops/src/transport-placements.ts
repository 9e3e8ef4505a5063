import { PlacementBroadcast } from '#model-registry';
import { Injectable } from '#platform/injection';
import { QueueTransport } from '#queue';

/** Publishes placements over the bus of the queue. */
@Injectable()
export class TransportPlacements extends PlacementBroadcast {
  readonly channel: PlacementBroadcast['channel'];
  readonly heartbeats: PlacementBroadcast['heartbeats'];

  constructor({ placements, membership }: QueueTransport) {
    super();
    this.channel = placements;
    this.heartbeats = () => membership.list();
  }
}
