import { Module } from '@nestjs/common';
import { BillingModule } from '../nest/billing.module.js';
import { BillingController } from './billing.controller.js';

/** The routes of balances and usage. */
@Module({ imports: [BillingModule], controllers: [BillingController] })
export class BillingApiModule {}
