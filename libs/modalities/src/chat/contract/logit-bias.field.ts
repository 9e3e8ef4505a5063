import { CheckedField } from '#platform/http';
import { logitBiasProblem, logitBiasSchema } from './logit-bias.js';

/** `logit_bias` of a request. */
export function LogitBiasField(): PropertyDecorator {
  return CheckedField({
    name: 'isLogitBias',
    description: 'Added to the logits of tokens, by their ids, before sampling; −100 all but excludes a token.',
    example: { 50: -100 },
    schema: logitBiasSchema,
    check: logitBiasProblem,
  });
}
