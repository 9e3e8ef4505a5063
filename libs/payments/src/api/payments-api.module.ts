import { Module } from '@nestjs/common';
import { PaymentsModule } from '../nest/payments.module.js';
import { TopUpController } from './top-up.controller.js';

/** The routes of payments. */
@Module({ imports: [PaymentsModule], controllers: [TopUpController] })
export class PaymentsApiModule {}
