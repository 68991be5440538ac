// Runs files of tests, each in a thread with globals of its own: a process for each took longer than its tests. Writes
// what each file has written and the status with which it ended, as JSON by the path of the file.
import { text } from "node:stream/consumers";
import { Worker } from "node:worker_threads";

/** @param {string} path */
async function run(path) {
  const worker = new Worker(path, { stdout: true, stderr: true });
  let problem = "";
  worker.on("error", (error) => (problem = error.stack ?? String(error)));
  const ended = new Promise((resolve) => worker.on("exit", resolve));
  const [output, warnings, status] = await Promise.all([text(worker.stdout), text(worker.stderr), ended]);
  return { status, output: output + warnings + problem };
}

const outcomes = {};
for (const path of process.argv.slice(2)) outcomes[path] = await run(path);
console.log(JSON.stringify(outcomes));
