import { Controller, Get, Param, Query } from '@nestjs/common';
import { ApiExcludeEndpoint, ApiParam, ApiQuery } from '@nestjs/swagger';
import { PlatformError } from '#common';
import { Access, ApiRoute } from '#platform/http';
import { type ModelType, modelTypes } from '../manifest/index.js';
import type { PresentedModel } from '../manifest/model.presenter.js';
import { type ModelFilter, ModelRegistryService } from '../registry/model-registry.service.js';
import type { ModelListResponse, ModelNamesResponse } from './model.response.js';
import { modelsDocuments as documents } from './models.document.js';

const modelFilters: readonly ModelFilter[] = [...modelTypes, 'all', 'code'];

const filterQuery = {
  anyOf: [
    { type: 'string', enum: [...modelTypes] },
    { type: 'string', enum: ['all', 'code'] },
  ],
};
const typeQuery = { type: 'string', enum: [...modelTypes], default: 'text' };

@Controller('models')
export class ModelsController {
  constructor(private readonly registry: ModelRegistryService) {}

  @Get()
  @Access('public')
  @ApiRoute(documents.list)
  @ApiQuery({ name: 'type', required: false, schema: filterQuery, description: 'Kind of models; default: text.' })
  async list(@Query('type') filter?: unknown): Promise<ModelListResponse> {
    const type = choose(filter, modelFilters);
    return { object: 'list', type, data: await this.registry.list(type) };
  }

  @Get('traits')
  @Access('public')
  @ApiRoute(documents.traits)
  @ApiQuery({ name: 'type', required: false, schema: typeQuery })
  async traits(@Query('type') filter?: unknown): Promise<ModelNamesResponse> {
    const type = choose<ModelType>(filter, modelTypes);
    return { object: 'list', type, data: await this.registry.names('trait', type) };
  }

  @Get('compatibility_mapping')
  @Access('public')
  @ApiRoute(documents.compatibilityMapping)
  @ApiQuery({ name: 'type', required: false, schema: typeQuery })
  async compatibilityMapping(@Query('type') filter?: unknown): Promise<ModelNamesResponse> {
    const type = choose<ModelType>(filter, modelTypes);
    return { object: 'list', type, data: await this.registry.names('alias', type) };
  }

  @Get(':id')
  @Access('public')
  @ApiRoute(documents.retrieve)
  @ApiParam({ name: 'id', type: String, example: 'stories-15m' })
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
function choose<Filter extends string>(filter: unknown, allowed: readonly Filter[]): Filter {
  const value = filter ?? 'text';
  const chosen = allowed.find((candidate) => candidate === value);
  if (chosen !== undefined) return chosen;
  const message = `type must be one of: ${allowed.join(', ')}`;
  throw new PlatformError('INVALID_REQUEST', message, 'type', {
    issues: [{ code: 'invalid_enum', path: ['type'], message }],
  });
}
