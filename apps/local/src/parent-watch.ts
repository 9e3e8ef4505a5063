/*
 * Loaded before the main module of every child (`node --import`). When `npm start` dies without stopping its children,
 * its IPC channel closes and they exit instead of holding ports and queues.
 */

// A worker passes its node options on to the hosts it forks; their channel leads to the worker.
const isOurChild = /[\\/]apps[\\/](api|worker|ops)[\\/]src[\\/]main\.js$/.test(process.argv[1] ?? '');

if (isOurChild && process.channel) {
  process.once('disconnect', () => process.kill(process.pid, 'SIGTERM'));
  process.channel.unref();
}
