import { createLedger, LedgerService, LedgerVerifier } from '#billing';
import { KnownQueues } from '#jobs/nest';
import { modalitiesOf } from '#modalities';
import { ModelRegistryService, ModelRepository, noOnlineModels, PlacementBroadcast } from '#model-registry';
import { Injectable } from '#platform/injection';
import { QueueTransport } from '#queue';
import { LedgerVerificationDatabase } from './ledger-verification.database.js';

/** One queue for each modality of each model in the registry, served or not. */
@Injectable()
export class RegistryQueues extends KnownQueues {
  private readonly registry: ModelRegistryService;

  constructor(models: ModelRepository) {
    super();
    this.registry = new ModelRegistryService(models, noOnlineModels);
  }

  async list(): ReturnType<KnownQueues['list']> {
    return (await this.registry.inventory()).flatMap(({ manifest }) =>
      modalitiesOf(manifest).map((modality) => ({ modality, modelId: manifest.id })),
    );
  }
}

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

/** Verifies over connections of its own: open reservations are counted at every scrape, which must not wait for it. */
@Injectable()
export class LedgerVerification extends LedgerVerifier {
  private readonly ledger: LedgerService;

  constructor(database: LedgerVerificationDatabase) {
    super();
    this.ledger = createLedger(database);
  }

  verify(): ReturnType<LedgerVerifier['verify']> {
    return this.ledger.verifyAndRecord();
  }
}
