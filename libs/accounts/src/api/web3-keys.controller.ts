import { Body, Controller, Get, HttpCode, Inject, Post } from '@nestjs/common';
import { ApiBody, ApiOkResponse, ApiOperation, ApiTags } from '@nestjs/swagger';
import { Access, ApiErrors } from '#platform/http';
import { validateWire } from '#platform/validation';
import { Web3KeysService } from '../web3/web3-keys.service.js';
import { presentCreatedKey } from './api-key.presenter.js';
import { CreateWeb3KeyRequest } from './api-key.request.js';
import { CreatedKeyDataResponse, Web3TokenDataResponse } from './api-key.response.js';
import { settingsOf } from './key-settings.normalizer.js';

const defaultDescription = 'Web3 API Key';

const createExamples = {
  wallet: {
    summary: 'A key for a wallet with a stake',
    value: {
      apiKeyType: 'INFERENCE',
      address: '0x52908400098527886E0F7030069857D2E4169EE7',
      token: 'eyJhbGciOi…',
      signature: '0x3d5f…1b',
    },
  },
};

/** Creates keys for wallets; these routes need no key. */
@ApiTags('API Keys')
@Controller('api_keys/generate_web3_key')
export class Web3KeysController {
  constructor(@Inject(Web3KeysService) private readonly keys: Web3KeysService) {}

  @Get()
  @Access('anonymous')
  @ApiOperation({
    operationId: 'getApiKeyGenerateWeb3Key',
    summary: 'Get a token for a wallet to sign',
    description: 'A token for the `POST` of the same path. It works once, for some minutes.',
    security: [],
  })
  @ApiOkResponse({ type: Web3TokenDataResponse })
  @ApiErrors('standard', [429, 500])
  token(): Web3TokenDataResponse {
    return { success: true, data: { token: this.keys.token() } };
  }

  @Post()
  @HttpCode(200)
  @Access('anonymous')
  @ApiOperation({
    operationId: 'postApiKeyGenerateWeb3Key',
    summary: 'Create a key for the wallet that signed the token',
    description:
      'Checks the signature of an Ethereum wallet and returns a key of its account, which is created if need be.',
    security: [],
  })
  @ApiBody({ type: CreateWeb3KeyRequest, examples: createExamples })
  @ApiOkResponse({ type: CreatedKeyDataResponse })
  @ApiErrors('standard', [400, 415, 429, 500])
  async create(@Body() body: unknown): Promise<CreatedKeyDataResponse> {
    const wire = validateWire(CreateWeb3KeyRequest, body);
    const { address, signature, token, apiKeyType: kind } = wire;
    const settings = settingsOf({ ...wire, description: wire.description ?? defaultDescription });
    return {
      success: true,
      data: presentCreatedKey(await this.keys.create({ address, signature, token, kind, settings })),
    };
  }
}
