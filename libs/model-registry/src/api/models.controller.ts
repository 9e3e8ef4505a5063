import { Controller, Get, Inject, Query } from '@nestjs/common';
import { ApiOkResponse, ApiOperation, ApiQuery, ApiTags } from '@nestjs/swagger';
import { PlatformError } from '#common';
import { Access, ApiErrors } from '#platform/http';
import { type ModelType, modelTypes } from '../manifest/index.js';
import { type ModelFilter, ModelRegistryService } from '../registry/model-registry.service.js';
import { ModelListResponse, ModelNamesResponse } from './model.response.js';

const modelFilters: readonly ModelFilter[] = [...modelTypes, 'all', 'code'];

const filterQuery = {
  anyOf: [
    { type: 'string', enum: [...modelTypes] },
    { type: 'string', enum: ['all', 'code'] },
  ],
};
const typeQuery = { type: 'string', enum: [...modelTypes], default: 'text' };

@ApiTags('Models')
@ApiErrors('openai', [400, 401, 500, 503])
@Controller('models')
export class ModelsController {
  constructor(@Inject(ModelRegistryService) private readonly registry: ModelRegistryService) {}

  @Get()
  @Access('public')
  @ApiOperation({ operationId: 'listModels', summary: 'List models' })
  @ApiQuery({ name: 'type', required: false, schema: filterQuery, description: 'Kind of models; default: text.' })
  @ApiOkResponse({ type: ModelListResponse })
  async list(@Query('type') given?: unknown): Promise<ModelListResponse> {
    const type = choose(given, modelFilters);
    return { object: 'list', type, data: await this.registry.list(type) };
  }

  @Get('traits')
  @Access('public')
  @ApiOperation({ operationId: 'listModelTraits', summary: 'List traits and the models they currently resolve to' })
  @ApiQuery({ name: 'type', required: false, schema: typeQuery })
  @ApiOkResponse({ type: ModelNamesResponse })
  async traits(@Query('type') given?: unknown): Promise<ModelNamesResponse> {
    const type = choose<ModelType>(given, modelTypes);
    return { object: 'list', type, data: await this.registry.names('trait', type) };
  }

  @Get('compatibility_mapping')
  @Access('public')
  @ApiOperation({
    operationId: 'listModelCompatibilityMapping',
    summary: 'List aliases and the models they resolve to',
  })
  @ApiQuery({ name: 'type', required: false, schema: typeQuery })
  @ApiOkResponse({ type: ModelNamesResponse })
  async compatibilityMapping(@Query('type') given?: unknown): Promise<ModelNamesResponse> {
    const type = choose<ModelType>(given, modelTypes);
    return { object: 'list', type, data: await this.registry.names('alias', type) };
  }
}

/** Returns the type filter: `text` without one. Rejects a repeated or unknown value. */
function choose<Filter extends string>(given: unknown, allowed: readonly Filter[]): Filter {
  const value = given ?? 'text';
  const chosen = allowed.find((each) => each === value);
  if (chosen !== undefined) return chosen;
  const message = `type must be one of: ${allowed.join(', ')}`;
  throw new PlatformError('INVALID_REQUEST', message, 'type', {
    issues: [{ code: 'invalid_enum', path: ['type'], message }],
  });
}
