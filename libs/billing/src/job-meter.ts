/** Injection token of the `Meter` that says what a job is charged for; the process provides it. */
export const JobMeter = Symbol('JobMeter');
