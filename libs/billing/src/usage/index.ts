export { dayBorders, type DayRange, isTimeZone } from './local-days.js';
export {
  type UsageFigures,
  type UsageGrouping,
  usageGroupings,
  type UsageSelection,
} from './usage-report.repository.js';
export { type UsageReport, UsageReportService } from './usage-report.service.js';
