import { ApiProperty } from '@nestjs/swagger';

/* Responses of the routes for operators: queue, workers, models. */

const count = { type: 'integer', minimum: 0 } as const;
const text = { type: 'string', nullable: true } as const;
const names = { type: 'array', items: { type: 'string' } } as const;
const bytesByDevice = {
  type: 'object',
  additionalProperties: { type: 'integer' },
  example: { cpu: 2_500_000_000 },
} as const;

export class QueueRowResponse {
  @ApiProperty({ type: 'string', description: 'The kind of request.', example: 'chat' }) type!: string;
  @ApiProperty({ type: 'string', example: 'stories-15m' }) model!: string;
  @ApiProperty({ ...names, description: 'Pools in which the model is placed; none: workers choose their models.' })
  pools!: string[];

  @ApiProperty(count) waiting!: number;
  @ApiProperty(count) running!: number;
  @ApiProperty({ type: 'integer', nullable: true, description: 'How long the oldest one has waited.' })
  oldestMs!: number | null;

  @ApiProperty({ ...count, description: 'Open jobs that were delivered before, to a worker that was lost.' })
  retries!: number;

  @ApiProperty({ ...count, description: 'Workers that claim sticky jobs of this queue.' }) claimingWorkers!: number;
}

export class QueueResponse {
  @ApiProperty({ type: () => QueueRowResponse, isArray: true }) data!: QueueRowResponse[];
}

export class WorkerModelResponse {
  @ApiProperty({ type: 'string' }) id!: string;
  @ApiProperty({ type: 'string', description: 'loading, ready, draining, or why it is not loaded.' }) state!: string;
  @ApiProperty({ ...text, description: 'Why it is not loaded, or not where it would rather run.' }) reason!:
    string | null;
  @ApiProperty({ ...text, description: 'Execution provider.', example: 'cpu' }) provider!: string | null;
  @ApiProperty(bytesByDevice) memory!: Record<string, number>;
  @ApiProperty(count) slots!: number;
  @ApiProperty(count) running!: number;
}

export class WorkerDeviceResponse {
  @ApiProperty({ type: 'string', example: 'cpu' }) name!: string;
  @ApiProperty({ ...count, description: 'Memory for models, in bytes.' }) totalBytes!: number;
  @ApiProperty({ ...count, description: 'What its models occupy of it, in bytes.' }) usedBytes!: number;
}

export class WorkerResponse {
  @ApiProperty({ type: 'string' }) id!: string;
  @ApiProperty({ type: 'string', enum: ['active', 'drained'] }) state!: string;
  @ApiProperty(names) pools!: string[];
  @ApiProperty(text) host!: string | null;
  @ApiProperty({ ...text, description: 'In Kubernetes.' }) pod!: string | null;
  @ApiProperty(text) version!: string | null;
  @ApiProperty({ ...text, format: 'date-time' }) since!: string | null;
  @ApiProperty(count) slots!: number;
  @ApiProperty(count) running!: number;
  @ApiProperty({ type: () => WorkerDeviceResponse, isArray: true }) devices!: WorkerDeviceResponse[];
  @ApiProperty({ type: () => WorkerModelResponse, isArray: true }) models!: WorkerModelResponse[];
}

export class WorkerListResponse {
  @ApiProperty({ type: () => WorkerResponse, isArray: true }) data!: WorkerResponse[];
}

export class ModelPlacementResponse {
  @ApiProperty({ type: 'string', example: 'default' }) pool!: string;
  @ApiProperty({ type: 'boolean', description: 'Never unloaded to make room.' }) pinned!: boolean;
  @ApiProperty({ type: 'integer', nullable: true, description: 'Workers of the pool that serve it; null: all.' })
  replicas!: number | null;
}

export class AdminModelResponse {
  @ApiProperty({ type: 'string', example: 'stories-15m' }) id!: string;
  @ApiProperty({ type: 'string' }) name!: string;
  @ApiProperty({ type: 'string', example: 'text' }) type!: string;
  @ApiProperty({ type: 'string' }) family!: string;

  @ApiProperty({
    type: 'string',
    enum: ['online', 'loading', 'offline', 'disabled'],
    description: '`disabled`: taken offline by an operator.',
  })
  state!: 'online' | 'loading' | 'offline' | 'disabled';

  @ApiProperty({ ...text, description: 'Why no worker serves it, where one says so.' }) reason!: string | null;
  @ApiProperty({ type: 'boolean', description: 'Not offered to clients.' }) internal!: boolean;
  @ApiProperty({ type: 'integer', nullable: true, description: 'Of its files, in bytes.' }) sizeBytes!: number | null;
  @ApiProperty({ type: () => ModelPlacementResponse, isArray: true }) placements!: ModelPlacementResponse[];
  @ApiProperty({ ...names, description: 'Workers that have it loaded.' }) workers!: string[];
  @ApiProperty({ type: 'object', additionalProperties: true, nullable: true, description: 'Null: it is free.' })
  prices!: object | null;
}

export class AdminModelListResponse {
  @ApiProperty({ type: () => AdminModelResponse, isArray: true }) data!: AdminModelResponse[];
}

export class UnplacedModelResponse {
  @ApiProperty({ ...names, description: 'The pools that it was removed from.' }) pools!: string[];
}
