import { Module } from '@nestjs/common';
import { AccountsModule } from '../nest/accounts.module.js';
import { ApiKeysController } from './api-keys.controller.js';
import { Web3KeysController } from './web3-keys.controller.js';

/** The routes of API keys. */
@Module({ imports: [AccountsModule], controllers: [Web3KeysController, ApiKeysController] })
export class AccountsApiModule {}
