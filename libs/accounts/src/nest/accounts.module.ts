import { Module } from '@nestjs/common';
import { ApiConfig } from '#platform/config';
import { AccountsService } from '../accounts.service.js';
import { ApiKeysService } from '../keys/api-keys.service.js';
import { OnchainStakeVerifier } from '../web3/onchain-stake-verifier.js';
import { AllowListedStakes, StakeVerifier } from '../web3/stake-verifier.js';
import { Web3KeysService } from '../web3/web3-keys.service.js';

/** Accounts and their keys. The process provides a `KeyUsageReader`. */
@Module({
  providers: [
    AccountsService,
    ApiKeysService,
    Web3KeysService,
    { provide: StakeVerifier, inject: [ApiConfig], useFactory: stakesOf },
  ],
  exports: [AccountsService, ApiKeysService, Web3KeysService],
})
export class AccountsModule {}

function stakesOf({ stakeAllowList, stakeContract }: ApiConfig): StakeVerifier {
  return new AllowListedStakes(stakeAllowList, stakeContract === null ? null : new OnchainStakeVerifier(stakeContract));
}
