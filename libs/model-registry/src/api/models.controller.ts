import { Controller, Get, Inject, Param, Query } from '@nestjs/common';
import { ApiExcludeEndpoint, ApiOkResponse, ApiOperation, ApiParam, ApiQuery, ApiTags } from '@nestjs/swagger';
import { PlatformError } from '#common';
import { Access, ApiErrors } from '#platform/http';
import { type ModelType, modelTypes } from '../manifest/index.js';
import type { PresentedModel } from '../manifest/model.presenter.js';
import { type ModelFilter, ModelRegistryService } from '../registry/model-registry.service.js';
import { ModelListResponse, ModelNamesResponse, ModelResponse } from './model.response.js';

const modelFilters: readonly ModelFilter[] = [...modelTypes, 'all', 'code'];

const filterQuery = {
  anyOf: [
    { type: 'string', enum: [...modelTypes] },
    { type: 'string', enum: ['all', 'code'] },
  ],
};
const typeQuery = { type: 'string', enum: [...modelTypes], default: 'text' };

@ApiTags('Models')
@ApiErrors('openai', [400, 401, 429, 500, 503])
@Controller('models')
export class ModelsController {
  constructor(@Inject(ModelRegistryService) private readonly registry: ModelRegistryService) {}

  @Get()
  @Access('public')
  @ApiOperation({
    operationId: 'listModels',
    summary: 'List models',
    description: 'Models of one type or of all, newest first, with their limits, capabilities and prices.',
  })
  @ApiQuery({ name: 'type', required: false, schema: filterQuery, description: 'Kind of models; default: text.' })
  @ApiOkResponse({ type: ModelListResponse })
  async list(@Query('type') given?: unknown): Promise<ModelListResponse> {
    const type = choose(given, modelFilters);
    return { object: 'list', type, data: await this.registry.list(type) };
  }

  @Get('traits')
  @Access('public')
  @ApiOperation({
    operationId: 'listModelTraits',
    summary: 'List traits',
    description: 'Names such as `default` and the models that they currently resolve to.',
  })
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
    summary: 'List aliases',
    description: 'Other names of models, such as `whisper-1` or `gpt-4o-mini`, and the models that they resolve to.',
  })
  @ApiQuery({ name: 'type', required: false, schema: typeQuery })
  @ApiOkResponse({ type: ModelNamesResponse })
  async compatibilityMapping(@Query('type') given?: unknown): Promise<ModelNamesResponse> {
    const type = choose<ModelType>(given, modelTypes);
    return { object: 'list', type, data: await this.registry.names('alias', type) };
  }

  @Get(':id')
  @Access('public')
  @ApiErrors('openai', [404, 410])
  @ApiOperation({
    operationId: 'retrieveModel',
    summary: 'Get one model',
    description: 'The entry of one model, by its id, alias or trait. An alias may contain slashes, encoded or not.',
  })
  @ApiParam({ name: 'id', type: String, example: 'stories-15m' })
  @ApiOkResponse({ type: ModelResponse })
  async retrieve(@Param('id') id: string): Promise<PresentedModel> {
    return await this.registry.describe(id);
  }

  /** The same for aliases with slashes that the client did not encode. */
  @Get('*')
  @Access('public')
  @ApiExcludeEndpoint()
  async retrieveNested(@Param('*') id: string): Promise<PresentedModel> {
    return await this.registry.describe(id);
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
