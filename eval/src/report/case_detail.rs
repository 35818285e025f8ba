//! One case from near: its steps, and what its judges found.

use serde_json::Value;
use uwf_engine::thread::{self, StepNode};
use uwf_store::{Hash, Store};

use crate::error::EvalError;
use crate::record::{EvalRun, Records, get};

/// The steps of a case, and what its judges found.
#[derive(Clone, Debug, Default, PartialEq)]
pub struct CaseDetail {
    /// The oldest first.
    pub steps: Vec<StepOfCase>,
    /// In the order of the judges; those that found nothing are left out.
    pub found: Vec<FoundByJudge>,
    /// What of it is not in this store.
    pub missing: Vec<String>,
}

/// A step of a case.
#[derive(Clone, Debug, PartialEq)]
pub struct StepOfCase {
    /// The StepNode.
    pub hash: Hash,
    /// Who played.
    pub role: String,
    /// What it was asked.
    pub asked: String,
    /// What it answered.
    pub output: Value,
    /// How long it took.
    pub seconds: f64,
}

/// What a judge found.
#[derive(Clone, Debug, PartialEq)]
pub struct FoundByJudge {
    /// The judge.
    pub judge: String,
    /// Data of its own schema.
    pub data: Value,
}

impl CaseDetail {
    /// Reads it; `run` is the record of the case. What the record refers to and is not there is told in `missing`.
    ///
    /// # Errors
    /// The record itself cannot be read.
    pub fn read(store: &Store, run: &Hash) -> Result<CaseDetail, EvalError> {
        let record: EvalRun = get(store, &Records::known().run, run)?;
        let mut detail = CaseDetail::default();
        if let Some(head) = &record.head {
            match thread::chain(store, head) {
                Ok(chain) => chain.steps.iter().for_each(|(hash, step)| detail.add_step(store, hash, step)),
                Err(error) => detail.missing.push(format!("its steps cannot be read: {error}")),
            }
        }
        for judge in &record.judges {
            let Some(data) = &judge.data_hash else { continue };
            match store.get(data) {
                Ok(node) => detail.found.push(FoundByJudge { judge: judge.name.clone(), data: node.payload }),
                Err(error) => {
                    detail.missing.push(format!("what {} found cannot be read: {error}", judge.name))
                }
            }
        }
        Ok(detail)
    }

    fn add_step(&mut self, store: &Store, hash: &Hash, step: &StepNode) {
        let output = store.get(&step.output).map(|node| node.payload);
        if let Err(error) = &output {
            self.missing.push(format!("the answer of {} cannot be read: {error}", step.role));
        }
        self.steps.push(StepOfCase {
            hash: *hash,
            role: step.role.clone(),
            asked: step.edge_prompt.clone(),
            output: output.unwrap_or(Value::Null),
            seconds: step.duration_ms() as f64 / 1000.0,
        });
    }
}
