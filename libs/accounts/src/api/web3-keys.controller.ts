import { Controller, Get, Post } from '@nestjs/common';
import { Access, ApiRoute, RequestBody } from '#platform/http';
import { Web3KeysService } from '../web3/web3-keys.service.js';
import { presentCreatedKey } from './api-key.presenter.js';
import { CreateWeb3KeyRequest } from './api-key.request.js';
import type { CreatedKeyDataResponse, Web3TokenDataResponse } from './api-key.response.js';
import { apiKeysDocuments as documents } from './api-keys.document.js';
import { settingsOf } from './key-settings.normalizer.js';

const defaultDescription = 'Web3 API Key';

/** Creates keys for wallets; these routes need no key. */
@Controller('api_keys/generate_web3_key')
export class Web3KeysController {
  constructor(private readonly keys: Web3KeysService) {}

  @Get()
  @Access('anonymous')
  @ApiRoute(documents.walletToken)
  token(): Web3TokenDataResponse {
    return { success: true, data: { token: this.keys.token() } };
  }

  @Post()
  @Access('anonymous')
  @ApiRoute(documents.createForWallet)
  async create(@RequestBody(CreateWeb3KeyRequest) body: CreateWeb3KeyRequest): Promise<CreatedKeyDataResponse> {
    const { address, signature, token, apiKeyType: kind } = body;
    const settings = settingsOf({ ...body, description: body.description ?? defaultDescription });
    return {
      success: true,
      data: presentCreatedKey(await this.keys.create({ address, signature, token, kind, settings })),
    };
  }
}
