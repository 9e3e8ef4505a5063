import { ApiProperty } from '@nestjs/swagger';

/* Responses of `GET /requests` and `GET /requests/{id}`. They have no prompt and no output. */

const count = { type: 'integer', nullable: true, minimum: 0 } as const;
const amount = { type: 'string', example: '0.000048000' } as const;
const time = { type: 'string', format: 'date-time' } as const;
const ms = { type: 'integer', minimum: 0 } as const;

export const requestStates = ['queued', 'running', 'succeeded', 'failed', 'cancelled', 'expired'] as const;

export class RequestKeyResponse {
  @ApiProperty({ type: 'string', format: 'uuid' }) id!: string;
  @ApiProperty({ type: 'string', example: 'Batch jobs' }) description!: string;
  @ApiProperty({ type: 'string', example: 'x1y2z3' }) last6!: string;
}

export class RequestRowResponse {
  @ApiProperty({ type: 'string', description: 'As in `CF-RAY`.', example: '8f3a1b2c4d5e6f70-SLC' }) id!: string;
  @ApiProperty({ type: 'string', nullable: true, description: 'Of an async job.' }) queueId!: string | null;
  @ApiProperty({ type: 'string', description: 'The kind of request.', example: 'chat' }) type!: string;
  @ApiProperty({ type: 'string', example: 'stories-15m' }) model!: string;
  @ApiProperty({ type: () => RequestKeyResponse }) key!: RequestKeyResponse;
  @ApiProperty({ type: 'string', enum: [...requestStates] }) state!: string;
  @ApiProperty({ ...count, description: 'HTTP status of the response; null while it is open or if none was sent.' })
  status!: number | null;

  @ApiProperty({ type: 'string', nullable: true, example: 'MODEL_AT_CAPACITY' }) errorCode!: string | null;
  @ApiProperty({ ...ms, description: 'How often it was delivered to a worker.' }) attempt!: number;
  @ApiProperty(time) createdAt!: string;
  @ApiProperty({ ...time, nullable: true }) finishedAt!: string | null;
  @ApiProperty({
    type: 'string',
    nullable: true,
    example: 'default/worker-3f0c',
    description: 'Pools and id of the worker that ran it; null while it is open, and where none did.',
  })
  worker!: string | null;

  @ApiProperty({ ...ms, description: 'From its admission until a worker took it, or until now.' }) queuedMs!: number;
  @ApiProperty({ ...count, description: 'From its admission until its first token; null while it is open.' })
  firstTokenMs!: number | null;

  @ApiProperty({ ...count, description: 'On the worker.' }) executionMs!: number | null;
  @ApiProperty({ ...ms, description: 'From its admission until it ended, or until now.' }) totalMs!: number;
  @ApiProperty(count) promptTokens!: number | null;
  @ApiProperty(count) cachedTokens!: number | null;
  @ApiProperty(count) completionTokens!: number | null;
  @ApiProperty({ ...amount, nullable: true, description: 'In USD; null while it is open.' }) spend!: string | null;
}

export class RequestListResponse {
  @ApiProperty({ type: () => RequestRowResponse, isArray: true, maxItems: 200 }) data!: RequestRowResponse[];
  @ApiProperty({ type: 'string', nullable: true }) nextCursor!: string | null;
}

export class RequestAttemptResponse {
  @ApiProperty({ type: 'integer', minimum: 1 }) attempt!: number;
  @ApiProperty({ type: 'string', example: 'succeeded' }) status!: string;
  @ApiProperty({ type: 'boolean', description: 'False for a result that came too late.' }) applied!: boolean;
  @ApiProperty(time) processedAt!: string;
}

export class RequestReservationResponse {
  @ApiProperty({ type: 'string', enum: ['open', 'settled', 'released'] }) state!: string;
  @ApiProperty(amount) reserved!: string;
  @ApiProperty({ ...amount, nullable: true }) charged!: string | null;
}

export class RequestEntryResponse {
  @ApiProperty({ type: 'string', example: 'stories-15m-llm-output-mtoken' }) sku!: string;
  @ApiProperty({ type: 'string', enum: ['USD', 'DIEM', 'BUNDLED'] }) currency!: string;
  @ApiProperty({ ...amount, description: 'Negative: it was charged.', example: '-0.000048000' }) amount!: string;
  @ApiProperty(time) createdAt!: string;
}

export class RequestDetailResponse extends RequestRowResponse {
  @ApiProperty({ type: 'boolean' }) stream!: boolean;
  @ApiProperty({ ...time, description: 'When its present attempt entered the queue.' }) enqueuedAt!: string;
  @ApiProperty({ ...time, nullable: true }) startedAt!: string | null;
  @ApiProperty(time) deadlineAt!: string;
  @ApiProperty({ type: 'integer', nullable: true, description: 'Of an async job.' }) progressPercent!: number | null;
  @ApiProperty({ type: () => RequestAttemptResponse, isArray: true }) attempts!: RequestAttemptResponse[];
  @ApiProperty({ type: () => RequestReservationResponse, nullable: true })
  reservation!: RequestReservationResponse | null;

  @ApiProperty({ type: () => RequestEntryResponse, isArray: true }) entries!: RequestEntryResponse[];
}
