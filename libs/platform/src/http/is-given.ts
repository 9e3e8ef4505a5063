/** Whether a field says something: null and an empty list count as absent. */
export function isGiven<Value>(value: Value | null | undefined): value is Value {
  return value !== undefined && value !== null && !(Array.isArray(value) && value.length === 0);
}
