import { BooleanField, IntegerField, TextField } from '#platform/http';

/** Body of `POST /models/{id}/place`. */
export class PlaceModelRequest {
  @TextField({
    required: true,
    maxLength: 63,
    description: 'The pool whose workers serve the model.',
    example: 'local',
  })
  pool!: string;

  @BooleanField({ description: 'Never unload it to make room.', default: false })
  pinned?: boolean;

  @IntegerField({ minimum: 1, maximum: 10_000, description: 'Workers of the pool that serve it; absent: all.' })
  replicas?: number;
}

/** Body of `POST /models/{id}/unplace`. */
export class UnplaceModelRequest {
  @TextField({ maxLength: 63, description: 'The pool that it is removed from; absent: every pool.', example: 'local' })
  pool?: string;
}

/** Body of `POST /models/{id}/state`. */
export class ModelStateRequest {
  @BooleanField({ required: true, description: 'Whether clients may use it.' })
  enabled!: boolean;
}
