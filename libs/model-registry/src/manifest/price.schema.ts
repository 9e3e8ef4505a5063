import { IsNumber, Min } from '#platform/validation';

/** Leaf of a pricing shape: the same price in both currencies. */
export class PriceSchema {
  @IsNumber() @Min(0) usd: number;
  @IsNumber() @Min(0) diem: number;
}
