export { type ActivityScope, type JobActivity, JobActivityRepository } from './job-activity.repository.js';
export {
  type InspectedJob,
  type JobFilter,
  JobInspectionRepository,
  type ListedJob,
} from './job-inspection.repository.js';
export {
  positionOf,
  type RequestFilter,
  RequestListRepository,
  type RequestPosition,
  type RequestRow,
} from './request-list.repository.js';
