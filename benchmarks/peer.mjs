// Reads commit messages with the code of others, a pass over all of them for each line on stdin.
//
// The first argument is the file of the code, conventional-commits-parser or the linter of commitlint; the second
// a JSON file with the messages; for the linter the third is the file with its rules. After each pass the seconds
// it took are printed.
import { readFileSync } from "node:fs";
import { createInterface } from "node:readline";
import { pathToFileURL } from "node:url";

const [code, file, config] = process.argv.slice(2);
const { CommitParser, default: lint } = await import(pathToFileURL(code));
const messages = JSON.parse(readFileSync(file, "utf8"));

async function linted() {
  const { rules } = (await import(pathToFileURL(config))).default;
  return async () => {
    for (const message of messages) await lint(message, rules);
  };
}

function parsed() {
  const parser = new CommitParser();
  return () => {
    for (const message of messages) parser.parse(message);
  };
}

const pass = config ? await linted() : parsed();
for await (const _ of createInterface({ input: process.stdin })) {
  const began = process.hrtime.bigint();
  await pass();
  console.log(Number(process.hrtime.bigint() - began) / 1e9);
}
