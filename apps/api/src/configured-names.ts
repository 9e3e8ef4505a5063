import { CompatibleNames } from '#model-registry';
import { ApiConfig } from '#platform/config';
import { Injectable } from '#platform/injection';

/** The names of hosted models that the operator of this installation lets clients use. */
@Injectable()
export class ConfiguredNames extends CompatibleNames {
  constructor({ compatibleNames }: ApiConfig) {
    super(compatibleNames);
  }
}
