import { Module } from '@nestjs/common';
import { ApiConfig } from '#platform/config';
import { AccountsRepository } from '../accounts.repository.js';
import { AccountsService } from '../accounts.service.js';
import { ApiKeysRepository } from '../keys/api-keys.repository.js';
import { ApiKeysService } from '../keys/api-keys.service.js';
import { ConsoleSessionsRepository } from '../sessions/console-sessions.repository.js';
import { ConsoleSessionsService } from '../sessions/console-sessions.service.js';
import { OnchainStakes } from '../web3/onchain-stakes.js';
import { StakeLedger } from '../web3/stake-reader.js';
import { StakesService } from '../web3/stakes.service.js';
import { WalletKeysRepository } from '../wallets/wallet-keys.repository.js';
import { WalletNoncesRepository } from '../wallets/wallet-nonces.repository.js';
import { StakesRepository } from '../web3/stakes.repository.js';
import { WalletsRepository } from '../web3/wallets.repository.js';
import { Web3KeysService } from '../web3/web3-keys.service.js';

/** Accounts and their keys. The process provides a `KeyUsageReader` and a `StakeLedger`. */
@Module({
  providers: [
    AccountsRepository,
    AccountsService,
    ApiKeysRepository,
    ApiKeysService,
    WalletsRepository,
    WalletKeysRepository,
    WalletNoncesRepository,
    StakesRepository,
    Web3KeysService,
    ConsoleSessionsRepository,
    ConsoleSessionsService,
    { provide: StakesService, inject: [StakesRepository, StakeLedger, ApiConfig], useFactory: stakesOf },
  ],
  exports: [
    AccountsRepository,
    AccountsService,
    ApiKeysService,
    WalletKeysRepository,
    WalletNoncesRepository,
    Web3KeysService,
    ConsoleSessionsService,
  ],
})
export class AccountsModule {}

function stakesOf(
  repository: StakesRepository,
  ledger: StakeLedger,
  { stakeAllowList: allowList, stakeSettings }: ApiConfig,
): StakesService {
  const reader = stakeSettings === null ? null : new OnchainStakes(stakeSettings);
  return new StakesService({ repository, ledger, allowList, terms: stakeSettings, reader });
}
