import type { Metrics } from '#platform/metrics';
import type { AdmissionDecision } from './admission.service.js';

/** `sluice_admission_decisions_total`: what becomes of requests that are valid and within their limits. */
export function countDecisions(metrics: Metrics): (decision: AdmissionDecision) => void {
  const decisions = metrics.counter(
    'sluice_admission_decisions_total',
    'Requests admitted (`admitted`) or rejected (error code) by admission: balance, capacity, stores.',
    ['modality', 'model', 'reason'],
  );
  return ({ modality, modelId, reason }) => decisions.inc({ modality, model: modelId, reason });
}
