//! Results of STS, as XML and as JSON.

use serde_json::{Map, Value, json};

use crate::credentials::request_id;
use crate::http::Response;
use crate::wire::xml::Xml;

pub(super) const NAMESPACE: &str = "https://sts.amazonaws.com/doc/2011-06-15/";

/// The members of a result, in the order of the XML elements.
pub(super) struct ResultMembers(pub(super) Vec<(&'static str, ResultMember)>);

pub(super) enum ResultMember {
    Text(String),
    Group(ResultMembers),
}

pub(super) fn text(value: &str) -> ResultMember {
    ResultMember::Text(value.to_owned())
}

impl ResultMembers {
    pub(super) fn response(&self, operation: &str, as_json: bool) -> Response {
        let (id, response, result) = (
            request_id(),
            format!("{operation}Response"),
            format!("{operation}Result"),
        );
        if as_json {
            let body =
                json!({ &response: { &result: self.json(), "ResponseMetadata": { "RequestId": id } } });
            return Response::new(200, "application/json", body.to_string())
                .with_header("x-amzn-requestid", id);
        }
        let body = Xml::new()
            .element(&result, |xml| self.xml(xml))
            .element("ResponseMetadata", |metadata| metadata.text("RequestId", &id))
            .document(&response, Some(NAMESPACE));
        Response::new(200, "text/xml", body).with_header("x-amzn-requestid", id)
    }

    fn xml(&self, xml: Xml) -> Xml {
        self.0.iter().fold(xml, |xml, (name, member)| match member {
            ResultMember::Text(value) => xml.text(name, value),
            ResultMember::Group(members) => xml.element(name, |inner| members.xml(inner)),
        })
    }

    fn json(&self) -> Value {
        let members = self.0.iter().map(|(name, member)| {
            let value = match member {
                ResultMember::Text(value) => json!(value),
                ResultMember::Group(members) => members.json(),
            };
            ((*name).to_owned(), value)
        });
        Value::Object(members.collect::<Map<_, _>>())
    }
}
