//! Answers of the scenario: which request receives which one, and the response.

use std::borrow::Cow;
use std::path::Path;

use nodejoin_core::plan::answer::{Answer, AnswerableRequest};

use crate::content::Content;
use crate::http::{Request, Response};
use crate::sigv4::request_signature;

/// The answers of an instance and their counts.
#[derive(Debug)]
pub(crate) struct Answers(Vec<ActiveAnswer>);

#[derive(Debug)]
struct ActiveAnswer {
    answer: Answer,
    /// Requests that matched, including those before `after`.
    matched: u32,
    served: u32,
}

/// An answer that applies to a request.
#[derive(Debug, Clone)]
pub(crate) struct FoundAnswer {
    /// Index in the plan.
    pub(crate) index: usize,
    answer: Answer,
}

impl Answers {
    pub(crate) fn of(answers: &[Answer]) -> Self {
        let active = |answer: &Answer| ActiveAnswer {
            answer: answer.clone(),
            matched: 0,
            served: 0,
        };
        Self(answers.iter().map(active).collect())
    }

    /// Counts the request at every answer that matches it, up to the first that applies.
    pub(crate) fn find(&mut self, request: AnswerableRequest<'_>) -> Option<FoundAnswer> {
        self.0.iter_mut().enumerate().find_map(|(index, active)| {
            let applies = active.answer.matches(request) && active.serve();
            applies.then(|| FoundAnswer {
                index,
                answer: active.answer.clone(),
            })
        })
    }
}

impl ActiveAnswer {
    fn serve(&mut self) -> bool {
        self.matched = self.matched.saturating_add(1);
        let due =
            self.matched > self.answer.after && self.answer.times.is_none_or(|times| self.served < times);
        self.served = self.served.saturating_add(u32::from(due));
        due
    }
}

impl FoundAnswer {
    pub(crate) fn response(&self, request: &Request) -> Response {
        let (content_type, body) = self.body(request);
        let mut response = Response::new(self.answer.status, content_type, body);
        for (name, value) in &self.answer.headers {
            let name = name.to_ascii_lowercase();
            response.headers.retain(|(other, _)| *other != name);
            response.headers.push((Cow::Owned(name), value.clone()));
        }
        response.authorization = request_signature::claimed_access_key_id(request);
        response
    }

    fn body(&self, request: &Request) -> (&'static str, Content) {
        let answer = &self.answer;
        if let Some(json) = &answer.json {
            let content_type = match request.header("x-amz-target") {
                Some(_) => "application/x-amz-json-1.1",
                None => "application/json",
            };
            return (content_type, json.to_string().into());
        }
        match &answer.file {
            Some(file) => ("application/octet-stream", stored(file)),
            None => ("text/plain", answer.body.clone().unwrap_or_default().into()),
        }
    }
}

/// The content of a file. The loader has read it; a file that is gone meanwhile is empty.
fn stored(file: &str) -> Content {
    Content::of_file(Path::new(file)).unwrap_or_else(|error| {
        tracing::warn!(file, %error, "cannot read the file of an answer");
        Content::from("")
    })
}

#[cfg(test)]
mod tests {
    use super::*;

    fn answer(json: &str) -> Answer {
        serde_json::from_str(json).unwrap()
    }

    const REQUEST: AnswerableRequest<'static> = AnswerableRequest {
        host: "ssm.eu-west-1.amazonaws.com",
        service: "ssm",
        operation: "GetParameter",
        method: "POST",
        path: "/",
        seconds: 1.0,
    };

    #[test]
    fn after_and_times_select_the_answer() {
        let mut answers = Answers::of(&[
            answer(r#"{ "service": "kms" }"#),
            answer(r#"{ "service": "ssm", "after": 1, "times": 2 }"#),
            answer(r#"{ "host": "ssm.*", "status": 404, "times": 2 }"#),
        ]);
        let served: Vec<Option<usize>> = (0..5)
            .map(|_| answers.find(REQUEST).map(|found| found.index))
            .collect();
        assert_eq!(served, [Some(2), Some(1), Some(1), Some(2), None]);
    }
}
