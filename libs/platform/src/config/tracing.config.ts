import { BooleanVariable, ChoiceVariable, IntegerVariable, TextVariable } from './variable.js';

const collectorUrl = {
  optional: true,
  pattern: /^https?:\/\/.+/,
  expected: 'an http or https URL',
} as const;

const samplers = [
  'always_on',
  'always_off',
  'traceidratio',
  'parentbased_always_on',
  'parentbased_always_off',
  'parentbased_traceidratio',
] as const;
export type TraceSampler = (typeof samplers)[number];

/** OpenTelemetry's own variables that decide whether and what is traced; its libraries read the others. */
export class TracingConfig {
  @TextVariable('OTEL_EXPORTER_OTLP_ENDPOINT', {
    about: 'OTLP/HTTP collector, without `/v1/traces`; without it, no tracing.',
    ...collectorUrl,
  })
  otlpEndpoint?: string;

  @TextVariable('OTEL_EXPORTER_OTLP_TRACES_ENDPOINT', {
    about: 'Full URL for traces, instead of the above.',
    ...collectorUrl,
  })
  otlpTracesEndpoint?: string;

  @BooleanVariable('OTEL_SDK_DISABLED', { about: 'Turns tracing off.', default: false })
  otelDisabled!: boolean;

  @ChoiceVariable('OTEL_TRACES_SAMPLER', {
    about: 'Sampler; `parentbased_…` follows a caller’s `traceparent`.',
    choices: samplers,
    default: 'parentbased_always_on',
  })
  traceSampler!: TraceSampler;

  @TextVariable('OTEL_TRACES_SAMPLER_ARG', {
    about: 'Share of requests that `…traceidratio` samples.',
    default: '1',
    pattern: /^(0(\.\d+)?|1(\.0+)?)$/,
    expected: 'a number from 0 to 1',
  })
  traceShareText!: string;

  @IntegerVariable('OTEL_BSP_SCHEDULE_DELAY', {
    about: 'Interval of trace exports, in ms.',
    default: 5_000,
    min: 10,
    max: 600_000,
  })
  traceExportDelayMs!: number;

  /** True when there is a collector to send to. */
  get isTracingEnabled(): boolean {
    return !this.otelDisabled && (this.otlpTracesEndpoint ?? this.otlpEndpoint) !== undefined;
  }

  get traceShare(): number {
    return Number(this.traceShareText);
  }
}
