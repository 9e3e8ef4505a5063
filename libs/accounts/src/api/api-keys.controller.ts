import { Controller, Delete, Get, Param, Patch, Post, Query } from '@nestjs/common';
import { ApiParam, ApiQuery } from '@nestjs/swagger';
import { PlatformError } from '#common';
import { Access, ApiRoute, Exchange, type HttpExchange, RequestBody } from '#platform/http';
import { ApiKeysService } from '../keys/api-keys.service.js';
import { presentChangedKey, presentCreatedKey, presentKey } from './api-key.presenter.js';
import { CreateApiKeyRequest, UpdateApiKeyRequest } from './api-key.request.js';
import type {
  ChangedKeyDataResponse,
  CreatedKeyDataResponse,
  DeletedKeyResponse,
  KeyDataResponse,
  KeyListResponse,
} from './api-key.response.js';
import { apiKeysDocuments as documents } from './api-keys.document.js';
import { settingsChanges, settingsOf } from './key-settings.normalizer.js';

const exampleId = '0197a3c2-5b1e-7c40-9a63-2f8d1c0b7e54';

@Controller('api_keys')
export class ApiKeysController {
  constructor(private readonly keys: ApiKeysService) {}

  @Get()
  @Access('admin')
  @ApiRoute(documents.list)
  async list(@Exchange() { caller }: HttpExchange): Promise<KeyListResponse> {
    const keys = await this.keys.list(caller.accountId);
    return { object: 'list', data: keys.map(presentKey) };
  }

  @Get(':id')
  @Access('admin')
  @ApiRoute(documents.find)
  @ApiParam({ name: 'id', type: String, example: exampleId })
  async find(@Exchange() { caller }: HttpExchange, @Param('id') id: string): Promise<KeyDataResponse> {
    return { data: presentKey(await this.keys.find(caller.accountId, id)) };
  }

  @Post()
  @Access('admin')
  @ApiRoute(documents.create)
  async create(
    @RequestBody(CreateApiKeyRequest) body: CreateApiKeyRequest,
    @Exchange() { caller }: HttpExchange,
  ): Promise<CreatedKeyDataResponse> {
    const created = await this.keys.create(caller.accountId, body.apiKeyType, settingsOf(body));
    return { success: true, data: presentCreatedKey(created) };
  }

  @Patch()
  @Access('admin')
  @ApiRoute(documents.update)
  async update(
    @RequestBody(UpdateApiKeyRequest, withLimit) body: UpdateApiKeyRequest,
    @Exchange() { caller }: HttpExchange,
  ): Promise<ChangedKeyDataResponse> {
    const record = await this.keys.update(caller.accountId, body.id, settingsChanges(body));
    return { success: true, data: presentChangedKey(record) };
  }

  @Delete()
  @Access('admin')
  @ApiRoute(documents.delete)
  @ApiQuery({ name: 'id', required: false, type: 'string', description: 'Which key.', example: exampleId })
  async delete(@Exchange() { caller }: HttpExchange, @Query('id') id: unknown): Promise<DeletedKeyResponse> {
    if (typeof id !== 'string' || id === '') {
      const message = 'id is required, once.';
      const issues = [{ code: 'required', path: ['id'], message }];
      throw new PlatformError('INVALID_REQUEST', message, 'id', { issues });
    }
    await this.keys.delete(caller.accountId, id);
    return { success: true };
  }
}

/** Requests may also use the response's name of the field: `consumptionLimits`. */
function withLimit(body: unknown): unknown {
  if (typeof body !== 'object' || body === null || !('consumptionLimits' in body)) return body;
  return 'consumptionLimit' in body ? body : { ...body, consumptionLimit: body.consumptionLimits };
}
