import { Body, Controller, Delete, Get, HttpCode, Inject, Param, Patch, Post, Query, Req } from '@nestjs/common';
import { ApiBody, ApiOkResponse, ApiOperation, ApiParam, ApiQuery, ApiTags } from '@nestjs/swagger';
import type { FastifyRequest } from 'fastify';
import { PlatformError } from '#common';
import { Access, ApiErrors, callerOf } from '#platform/http';
import { validateWire } from '#platform/validation';
import { ApiKeysService } from '../keys/api-keys.service.js';
import { presentChangedKey, presentCreatedKey, presentKey } from './api-key.presenter.js';
import { CreateApiKeyRequest, UpdateApiKeyRequest } from './api-key.request.js';
import {
  ChangedKeyDataResponse,
  CreatedKeyDataResponse,
  DeletedKeyResponse,
  KeyDataResponse,
  KeyListResponse,
} from './api-key.response.js';
import { settingsChanges, settingsOf } from './key-settings.normalizer.js';

const createExamples = {
  plain: { summary: 'A key without limits', value: { apiKeyType: 'INFERENCE', description: 'Batch jobs' } },
  limited: {
    summary: 'A key that may spend 5 USD a day, until a date',
    value: {
      apiKeyType: 'INFERENCE',
      description: 'Trial',
      expiresAt: '2099-12-31',
      consumptionLimit: { usd: 5 },
      limitPeriod: 'EPOCH',
    },
  },
};

const updateExamples = {
  limit: {
    summary: 'Another limit, and no expiry',
    value: { id: '5f6c1c0e-2f7b-4b5e-9f0a-3d1d0c7a2b11', consumptionLimit: { usd: 20 }, expiresAt: null },
  },
};

@ApiTags('API Keys')
@Controller('api_keys')
export class ApiKeysController {
  constructor(@Inject(ApiKeysService) private readonly keys: ApiKeysService) {}

  @Get()
  @Access('admin')
  @ApiOperation({
    operationId: 'getApiKeys',
    summary: 'List the keys of the account',
    description: 'Every key that works, with its limits and usage. The key itself is shown only when it is created.',
  })
  @ApiOkResponse({ type: KeyListResponse })
  @ApiErrors('standard', [401, 403, 429, 500])
  async list(@Req() request: FastifyRequest): Promise<KeyListResponse> {
    const keys = await this.keys.list(callerOf(request).accountId);
    return { object: 'list', data: keys.map(presentKey) };
  }

  @Get(':id')
  @Access('admin')
  @ApiOperation({
    operationId: 'getApiKeyById',
    summary: 'Show a key',
    description: 'One key of the account by its id, with its limits and usage.',
  })
  @ApiParam({ name: 'id', type: String, example: '0197a3c2-5b1e-7c40-9a63-2f8d1c0b7e54' })
  @ApiOkResponse({ type: KeyDataResponse })
  @ApiErrors('standard', [401, 403, 404, 429, 500])
  async find(@Req() request: FastifyRequest, @Param('id') id: string): Promise<KeyDataResponse> {
    return { data: presentKey(await this.keys.find(callerOf(request).accountId, id)) };
  }

  @Post()
  @HttpCode(200)
  @Access('admin')
  @ApiOperation({
    operationId: 'createApiKey',
    summary: 'Create a key',
    description: 'Returns a new key, which is shown this once. Limits of spending and an expiry are optional.',
  })
  @ApiBody({ type: CreateApiKeyRequest, examples: createExamples })
  @ApiOkResponse({ type: CreatedKeyDataResponse })
  @ApiErrors('standard', [400, 401, 403, 415, 429, 500])
  async create(@Req() request: FastifyRequest, @Body() body: unknown): Promise<CreatedKeyDataResponse> {
    const wire = validateWire(CreateApiKeyRequest, body);
    const created = await this.keys.create(callerOf(request).accountId, wire.apiKeyType, settingsOf(wire));
    return { success: true, data: presentCreatedKey(created) };
  }

  @Patch()
  @Access('admin')
  @ApiOperation({
    operationId: 'updateApiKey',
    summary: 'Change a key',
    description: 'Changes what the body names; the rest stays. Null removes a limit.',
  })
  @ApiBody({ type: UpdateApiKeyRequest, examples: updateExamples })
  @ApiOkResponse({ type: ChangedKeyDataResponse })
  @ApiErrors('standard', [400, 401, 403, 415, 429, 500])
  async update(@Req() request: FastifyRequest, @Body() body: unknown): Promise<ChangedKeyDataResponse> {
    const wire = validateWire(UpdateApiKeyRequest, withLimit(body));
    const record = await this.keys.update(callerOf(request).accountId, wire.id, settingsChanges(wire));
    return { success: true, data: presentChangedKey(record) };
  }

  @Delete()
  @Access('admin')
  @ApiOperation({
    operationId: 'deleteApiKey',
    summary: 'Revoke a key',
    description: 'The key stops working within 5 seconds. Its charges stay in the history.',
  })
  @ApiQuery({
    name: 'id',
    required: false,
    type: 'string',
    description: 'Which key.',
    example: '0197a3c2-5b1e-7c40-9a63-2f8d1c0b7e54',
  })
  @ApiOkResponse({ type: DeletedKeyResponse })
  @ApiErrors('standard', [400, 401, 403, 429, 500])
  async delete(@Req() request: FastifyRequest, @Query('id') id: unknown): Promise<DeletedKeyResponse> {
    if (typeof id !== 'string' || id === '') {
      const message = 'id is required, once.';
      const issues = [{ code: 'required', path: ['id'], message }];
      throw new PlatformError('INVALID_REQUEST', message, 'id', { issues });
    }
    await this.keys.delete(callerOf(request).accountId, id);
    return { success: true };
  }
}

/** Requests may also use the response's name of the field: `consumptionLimits`. */
function withLimit(body: unknown): unknown {
  if (typeof body !== 'object' || body === null || !('consumptionLimits' in body)) return body;
  return 'consumptionLimit' in body ? body : { ...body, consumptionLimit: body.consumptionLimits };
}
