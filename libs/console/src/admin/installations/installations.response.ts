import { ApiProperty } from '@nestjs/swagger';
import {
  type InstallationStage,
  installationStages,
  type InstallationState,
  installationStates,
} from '#model-registry/installations';

/* Responses of the routes that install models. */

const text = { type: 'string', nullable: true } as const;
const bytes = { type: 'integer', minimum: 0, nullable: true } as const;
const time = { type: 'string', format: 'date-time' } as const;

export class InstallationProgressResponse {
  @ApiProperty({ type: 'string', enum: [...installationStages] }) stage!: InstallationStage;
  @ApiProperty({ ...text, description: 'The file, the package, or the kind of the conversion.' }) file!: string | null;
  @ApiProperty({ type: 'number', minimum: 0 }) done!: number;
  @ApiProperty({ type: 'number', minimum: 0, nullable: true, description: 'Null while unknown.' }) total!:
    number | null;
  @ApiProperty({ type: 'string', enum: ['bytes', 'steps'] }) unit!: 'bytes' | 'steps';
}

export class InstallationErrorResponse {
  @ApiProperty({ type: 'string', example: 'MODEL_PULL_FAILED' }) code!: string;
  @ApiProperty({ type: 'string' }) message!: string;
}

export class InstallationKeyResponse {
  @ApiProperty({ type: 'string', format: 'uuid' }) id!: string;
  @ApiProperty({ type: 'string' }) description!: string;
  @ApiProperty({ type: 'string' }) last6!: string;
}

export class InstallationResponse {
  @ApiProperty({ type: 'string', format: 'uuid' }) id!: string;
  @ApiProperty({ type: 'string', example: 'hf:owner/repository:Q4_K_M' }) reference!: string;
  @ApiProperty({ type: 'object', additionalProperties: true, description: 'As requested, without the reference.' })
  options!: object;

  @ApiProperty({ type: () => InstallationKeyResponse, nullable: true, description: 'Null: the key no longer exists.' })
  requestedBy!: InstallationKeyResponse | null;

  @ApiProperty({ type: 'string', enum: [...installationStates] }) state!: InstallationState;
  @ApiProperty({ ...text, description: 'The id of the model, once it is known.' }) model!: string | null;
  @ApiProperty({ type: () => InstallationProgressResponse, nullable: true })
  progress!: InstallationProgressResponse | null;
  @ApiProperty({ ...text, description: 'What the model is and the memory it takes.' }) note!: string | null;
  @ApiProperty({ type: () => InstallationErrorResponse, nullable: true }) error!: InstallationErrorResponse | null;
  @ApiProperty({ type: 'integer', minimum: 0, description: 'How many processes have begun it.' }) attempt!: number;
  @ApiProperty({ ...text, description: 'The process that works on it.', example: 'host:4711' }) owner!: string | null;
  @ApiProperty(time) createdAt!: string;
  @ApiProperty(time) updatedAt!: string;
  @ApiProperty({ ...time, nullable: true }) finishedAt!: string | null;
}

export class InstallationListResponse {
  @ApiProperty({ type: () => InstallationResponse, isArray: true }) data!: InstallationResponse[];
  @ApiProperty({ type: 'string', nullable: true }) nextCursor!: string | null;
}

export class InstallerResponse {
  @ApiProperty({ type: 'string' }) host!: string;
  @ApiProperty({ type: 'string', description: 'References may name files below it.' }) importFolder!: string;
  @ApiProperty({ type: 'integer', description: 'Free space for models.' }) freeBytes!: number;
}

export class InstallableModelResponse {
  @ApiProperty({ type: 'string', example: 'stories-15m' }) id!: string;
  @ApiProperty({ type: 'string' }) name!: string;
  @ApiProperty({ type: 'string', description: 'Such as chat, embedding, image or tts.' }) kind!: string;
  @ApiProperty({ type: 'string', enum: ['bundled', 'open'], description: '`open`: its weights come from a hub.' })
  origin!: 'bundled' | 'open';

  @ApiProperty({ type: 'string' }) about!: string;
  @ApiProperty({ type: 'string', example: 'Apache-2.0' }) license!: string;
  @ApiProperty({ ...bytes, description: 'Of its installed files; of open models an estimate.' }) sizeBytes!:
    number | null;
  @ApiProperty({ type: 'boolean', description: 'Its license must be accepted on the hub first.' }) gated!: boolean;
  @ApiProperty({ type: 'boolean', description: 'Its files are in a model store.' }) installed!: boolean;
}

export class InstallableModelsResponse {
  @ApiProperty({ type: () => InstallerResponse, isArray: true, description: 'Processes that install models.' })
  installers!: InstallerResponse[];

  @ApiProperty({ ...text, description: 'How models can be installed, where no process does.' }) hint!: string | null;
  @ApiProperty({ type: () => InstallableModelResponse, isArray: true }) data!: InstallableModelResponse[];
}
